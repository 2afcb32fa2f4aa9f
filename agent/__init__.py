"""The core: nouns, ports and the loop; it imports none of the other packages."""

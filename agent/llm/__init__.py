"""The configured models: transports, stream assembly, retries, prices. Only via_litellm imports litellm."""

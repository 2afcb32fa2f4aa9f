"""What Slack allows, with the page that says so; the fake enforces every line."""

from __future__ import annotations

from dataclasses import dataclass

_DOCS = "https://docs.slack.dev/reference/"
_BLOCKS = _DOCS + "block-kit/blocks/"
_ELEMENTS = _DOCS + "block-kit/block-elements/"
_OBJECTS = _DOCS + "block-kit/composition-objects/"
_SOCKETS = "https://docs.slack.dev/apis/events-api/using-socket-mode"
_EVENTS = "https://docs.slack.dev/apis/events-api/"


@dataclass(frozen=True, slots=True)
class Limit:
    value: int
    source: str


LIMITS = {
    # messages
    "postMessage.text": Limit(40_000, _DOCS + "methods/chat.postMessage"),  # cut, not refused
    # "4,000 characters"; bytes were measured (github.com/openclaw/openclaw), which is stricter.
    "update.text_bytes": Limit(4_000, _DOCS + "methods/chat.update"),
    "markdown_text": Limit(12_000, _DOCS + "methods/chat.postMessage"),
    "message.blocks": Limit(50, _DOCS + "block-kit/blocks"),
    "message.markdown": Limit(12_000, _BLOCKS + "markdown-block"),  # all markdown blocks of a payload together
    "message.all_text": Limit(13_000, "https://github.com/slackapi/bolt-js/issues/2509"),
    "metadata_bytes": Limit(16_000, "https://docs.slack.dev/messaging/message-metadata"),
    # blocks
    "block_id": Limit(255, _DOCS + "block-kit/blocks"),
    "section.text": Limit(3_000, _BLOCKS + "section-block"),
    "section.fields": Limit(10, _BLOCKS + "section-block"),
    "section.field": Limit(2_000, _BLOCKS + "section-block"),
    "header.text": Limit(150, _BLOCKS + "header-block"),
    "context.elements": Limit(10, _BLOCKS + "context-block"),
    "context_actions.elements": Limit(5, _BLOCKS + "context-actions-block"),
    "actions.elements": Limit(25, _BLOCKS + "actions-block"),
    "markdown.text": Limit(12_000, _BLOCKS + "markdown-block"),
    "image.url": Limit(3_000, _BLOCKS + "image-block"),
    "image.alt_text": Limit(2_000, _BLOCKS + "image-block"),
    "image.title": Limit(2_000, _BLOCKS + "image-block"),
    "input.label": Limit(2_000, _BLOCKS + "input-block"),
    "input.hint": Limit(2_000, _BLOCKS + "input-block"),
    "table.rows": Limit(100, _BLOCKS + "table-block"),
    "table.columns": Limit(20, _BLOCKS + "table-block"),
    "table.text": Limit(10_000, _BLOCKS + "table-block"),
    "message.tables": Limit(1, _BLOCKS + "table-block"),
    # elements and objects
    "action_id": Limit(255, _ELEMENTS + "button-element"),
    "button.text": Limit(75, _ELEMENTS + "button-element"),
    "button.value": Limit(2_000, _ELEMENTS + "button-element"),
    "button.url": Limit(3_000, _ELEMENTS + "button-element"),
    "button.accessibility_label": Limit(75, _ELEMENTS + "button-element"),
    "placeholder": Limit(150, _ELEMENTS + "plain-text-input-element"),
    "plain_text_input": Limit(3_000, _ELEMENTS + "plain-text-input-element"),
    "select.options": Limit(100, _ELEMENTS + "select-menu-element"),
    "overflow.options": Limit(5, _ELEMENTS + "overflow-menu-element"),
    "choice.options": Limit(10, _ELEMENTS + "checkboxes-element"),
    "text": Limit(3_000, _OBJECTS + "text-object"),
    "option.text": Limit(75, _OBJECTS + "option-object"),
    "option.value": Limit(150, _OBJECTS + "option-object"),
    "option.description": Limit(75, _OBJECTS + "option-object"),
    "confirm.title": Limit(100, _OBJECTS + "confirmation-dialog-object"),
    "confirm.text": Limit(300, _OBJECTS + "confirmation-dialog-object"),
    "confirm.button": Limit(30, _OBJECTS + "confirmation-dialog-object"),
    # modals
    "view.title": Limit(24, _DOCS + "views/modal-views"),
    "view.button": Limit(24, _DOCS + "views/modal-views"),
    "view.blocks": Limit(100, _DOCS + "views/modal-views"),
    "view.private_metadata": Limit(3_000, _DOCS + "views/modal-views"),
    "view.callback_id": Limit(255, _DOCS + "views/modal-views"),
    "view.bytes": Limit(250_000, _DOCS + "methods/views.open"),
    "trigger.seconds": Limit(3, "https://docs.slack.dev/interactivity/handling-user-interaction"),
    # streams and assistant threads
    "stream.text": Limit(12_000, _DOCS + "methods/chat.appendStream"),
    "stream.seconds": Limit(300, "https://github.com/vercel/chat/issues/607"),  # it closes by itself
    "stream.bytes": Limit(9_000, "https://github.com/vercel/chat/issues/607"),  # as users report
    "task.text": Limit(256, _DOCS + "methods/chat.appendStream#task_update"),
    "loading_messages": Limit(10, _DOCS + "methods/assistant.threads.setStatus"),
    "prompts": Limit(4, _DOCS + "methods/assistant.threads.setSuggestedPrompts"),
    # arriving
    "ack.seconds": Limit(3, _EVENTS),
    "retries": Limit(3, _EVENTS),
    "connections": Limit(10, _SOCKETS),
    "response_url.uses": Limit(5, "https://docs.slack.dev/interactivity/handling-user-interaction#message_responses"),
    "response_url.seconds": Limit(1_800, "https://docs.slack.dev/interactivity/handling-user-interaction"),
    # rates, calls a minute (https://docs.slack.dev/apis/web-api/rate-limits)
    "tier.2": Limit(20, "https://docs.slack.dev/apis/web-api/rate-limits"),
    "tier.3": Limit(50, "https://docs.slack.dev/apis/web-api/rate-limits"),
    "tier.4": Limit(100, "https://docs.slack.dev/apis/web-api/rate-limits"),
    "tier.channel": Limit(60, "https://docs.slack.dev/apis/web-api/rate-limits"),  # one a second
    "tier.channel.burst": Limit(3, "https://docs.slack.dev/apis/web-api/rate-limits"),  # "short bursts > 1"
}


def maximum(name: str) -> int:
    """The value of a limit."""
    return LIMITS[name].value

"""The error messages for failures of a service, the same for every service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agents.llm.errors import ModelError
from agents.llm.pacing import LONGEST_WAIT_SECONDS, asked_to_wait
from agents.llm.reply_form import refuses_form
from agents.llm.scrub import scrubbed
from agents.llm.structured import UNREADABLE, storable

_LONGEST_MESSAGE = 500
_PASSING = {408, 409, 429}
_TOO_MUCH = {429, 503, 529}
_QUOTA_CODES = {"insufficient_quota", "enforced_spend_limit_reached", "contract_spend_limit_reached"}
_FILTER_CODES = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    **dict.fromkeys(_FILTER_CODES, 400),
}
"""The status of an error that a service names in a word, as Anthropic and OpenAI do."""


@dataclass(frozen=True, slots=True)
class Service:
    """The address of a model and the settings of it, for messages to the user.

    `address` is empty where the SDK's own default is used.
    """

    name: str
    address: str
    key_variable: str
    key_setting: str
    url_setting: str
    structure_setting: str
    secret: str = field(default="", repr=False)
    further_secrets: tuple[str, ...] = field(default=(), repr=False)

    def other_than(self, own: str) -> str:
        """Return the address, bare of what may be a secret; empty where it is the provider's own one.

        Args:
            own: The address of the provider's own service.
        """
        parts = urlsplit(self.address)
        bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"
        return "" if not self.address or bare == own else bare

    @property
    def place(self) -> str:
        """The service and its address, as a user would look for it."""
        bare = self.other_than("")
        return f"{self.name} at {bare}" if bare else self.name

    def clean(self, text: str) -> str:
        """Remove the key from a text of the service; some services repeat it."""
        return scrubbed(text, self.secret, *self.further_secrets)

    def quote(self, message: object) -> str:
        """Shorten a text of the service and remove the key, which some services repeat."""
        words = self.clean(self._words(message))
        return words if len(words) <= _LONGEST_MESSAGE else words[:_LONGEST_MESSAGE] + "…"

    @staticmethod
    def _words(message: object) -> str:
        try:
            return storable(str(message))
        except UNREADABLE:  # nested too deep
            return type(message).__name__

    def no_key(self, why: str = "") -> ModelError:
        """There is no key to send."""
        return ModelError(
            "unauthorised",
            "No key",
            f"{self.name} needs a key and none is set." + (f" {self.quote(why)}" if why else ""),
            f"Set {self.key_variable} or {self.key_setting}.",
        )

    def check_key(self) -> None:
        """Refuse a key that no request can carry, such as one that was copied with a line break.

        Raises:
            ModelError: It is none.
        """
        if not self.secret.isascii() or not self.secret.isprintable():
            raise ModelError(
                "unauthorised",
                "Not a key",
                f"The key of {self.name} has a character in it that no key has, such as a line break.",
                f"Set {self.key_variable} or {self.key_setting} to the key alone.",
            )

    def unreachable(self, detail: str) -> ModelError:
        """No connection could be made or kept."""
        return ModelError(
            "unavailable",
            "Service unreachable",
            f"{self.place} could not be reached: {self.quote(detail)}.",
            f"Check the network, and {self.url_setting} if it is set.",
            passing=True,
        )

    def timed_out(self, seconds: float) -> ModelError:
        """No answer came in time."""
        return ModelError(
            "timeout",
            "Service does not answer",
            f"{self.place} did not answer within {seconds:g} seconds.",
            "Try again later, or raise models.timeout_seconds.",
            passing=True,
        )

    def invalid_reply(self, detail: object) -> ModelError:
        """The reply is not in the service's own format."""
        return ModelError(
            "unavailable",
            "Unexpected answer",
            f"{self.place} answered with something else than a reply: {self.quote(detail)}",
            f"Check {self.url_setting}: it must be the address of the interface, not of a web page.",
        )

    def reported(self, error: object) -> ModelError:
        """Explain an error that an answer with status 200 holds, by the status that it names.

        Args:
            error: The error, or the whole body.
        """
        said = error if isinstance(error, dict) else {}
        words = said.get("message") or error
        for code in (said.get("code"), said.get("status"), said.get("type")):
            if (status := _status_of(code)) is not None:
                return self.status(status, words, said.get("code"), field=said.get("param"))
        return ModelError(
            "unavailable",
            "Service failed",
            f"{self.name} reported an error: {self.quote(words)}",
            "Try again later.",
        )

    def status(
        self,
        status: int,
        message: object,
        code: object = None,
        headers: Mapping[str, str] | None = None,
        field: object = None,
    ) -> ModelError:
        """Explain an HTTP error.

        Args:
            status: The HTTP status.
            message: The text of the service.
            code: The service's own name of the error; anything else than a text says nothing.
            headers: Of the answer: whether and when it may be asked again.
            field: The field of the request that the service complains of, where it names one.

        Returns:
            The error to raise.
        """
        code = code if isinstance(code, str) else None
        headers_text = headers or {}
        if 300 <= status < 400:
            return self._redirected(headers_text.get("location", "another address"))
        error = self._form_refused(status, message, field) or self._status(status, message, code)
        if error.refuses_form:
            return error
        wait = asked_to_wait(headers_text)
        if headers_text.get("x-should-retry") in {"true", "false"}:
            error.passing = headers_text["x-should-retry"] == "true"
        else:
            error.passing = (status in _PASSING or status >= 500) and code not in _QUOTA_CODES
        if wait is not None and wait > LONGEST_WAIT_SECONDS:
            error.passing = False
        error.wait_seconds = wait
        error.slow_down = status in _TOO_MUCH and error.passing
        return error

    def _form_refused(self, status: int, message: object, field: object) -> ModelError | None:
        """The service does not take the way in which the form of the reply was asked for; None: it does."""
        if not refuses_form(status, f"{field if isinstance(field, str) else ''} {self._words(message)}"):
            return None
        return ModelError(
            "bad_request",
            "Form of the reply refused",
            f"{self.name} said ({status}): {self.quote(message)}",
            f'With {self.structure_setting} = "auto", the default, weaker ways are tried by themselves. '
            "Where none is accepted, use another model or a newer version of the service.",
            refuses_form=True,
        )

    def too_large(self, most: int) -> ModelError:
        """An answer was longer than is read."""
        return ModelError(
            "malformed",
            "Answer too large",
            f"{self.place} sent more than {most:,} bytes as one answer; the rest was not read.",
            "Check that the address is a model's; models.max_reply_bytes is the limit.",
        )

    def encoded_reply(self) -> ModelError:
        """An answer came compressed, though none was asked for."""
        return ModelError(
            "malformed",
            "Compressed answer",
            f"{self.place} compressed its answer, though it was asked not to; it was not unpacked.",
            f"Check {self.url_setting}, and the network between here and the service.",
        )

    def _redirected(self, location: str) -> ModelError:
        """The service points elsewhere, where the prompt and the code would go."""
        return ModelError(
            "bad_request",
            "Redirect refused",
            f"{self.place} redirects to {self.quote(location)}. Nothing was sent there.",
            f"If that is the right address, set {self.url_setting} to it.",
        )

    def _status(self, status: int, message: object, code: str | None) -> ModelError:
        words = f"{self.name} said ({status}): {self.quote(message)}"
        if code in _FILTER_CODES:
            return ModelError("refused", "Content filter", words, "The item keeps no verdict of this model.")
        if status == 429:
            hint = "Lower the concurrency or wait; models.max_retries says how often it is tried again."
            if code in _QUOTA_CODES:
                hint = "The account's quota is used up: check its plan and billing."
            return ModelError("rate_limited", "Too many requests", words, hint)
        if status in {401, 403}:
            hint = f"Check {self.key_variable} or {self.key_setting}, and that it has a right to the model."
            return ModelError("unauthorised", "Key not accepted", words, hint)
        if status == 402:
            return ModelError("unauthorised", "Payment required", words, "Check the account's balance.")
        if status == 404:
            hint = f"Check the model's name, and {self.url_setting} if it is set."
            return ModelError("bad_request", "Model or address not known", words, hint)
        if status in {408, 409} or status >= 500:
            return ModelError("unavailable", "Service failed", words, "Try again later.")
        hint = (
            'If it rejects the temperature, set models.temperature = "default"; if it rejects the form of '
            f"the reply, try another {self.structure_setting}."
        )
        return ModelError("bad_request", "Request not accepted", words, hint)


def _status_of(code: object) -> int | None:
    """Return the HTTP status that a code stands for: a number, its digits or a name; None for another one."""
    if isinstance(code, str):
        code = int(code) if re.fullmatch("[0-9]{3}", code) else _STATUS_OF.get(code)
    return code if type(code) is int and 400 <= code < 600 else None

"""A real SMTP server (aiosmtpd), which can reject mail, hang, require a login, or use TLS."""

import asyncio
import ssl
import time
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from support.process import free_port


class Handler:
    """Records messages with the time of receipt (`received`, of the monotonic clock). A test can set the replies for recipients, and the reply after the message (`at_end`)."""

    def __init__(self):
        self.mails = []
        self.sessions = set()
        self.recipients = {}
        self.at_end = "250 taken"
        self.hangs = False

    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = self.recipients.get(address, "250 ok")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):
        if self.hangs:
            await asyncio.Event().wait()
        if self.at_end.startswith("250"):
            self.sessions.add(session.peer)
            envelope.received = time.monotonic()
            self.mails.append(envelope)
        return self.at_end


class MailServer:
    def __init__(self, tls: tuple[Path, Path] | None = None, login: tuple[str, str] | None = None, address: str = "127.0.0.1"):
        self.handler = Handler()
        self.port = free_port()
        options = {}
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            options["tls_context"] = context
        if login:
            options["authenticator"] = lambda server, session, envelope, mechanism, data: AuthResult(
                handled=False,  # otherwise the server would not reply
                success=isinstance(data, LoginPassword) and (data.login.decode(), data.password.decode()) == login)
            options |= {"auth_required": True, "auth_require_tls": bool(tls)}
        self.controller = Controller(self.handler, hostname=address, port=self.port, **options)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def mails(self) -> list:
        return self.handler.mails

    def reached(self) -> list[str]:
        """Returns the recipients of all emails."""
        return sorted(to for each in self.mails for to in each.rcpt_tos)

    def __enter__(self) -> "MailServer":
        self.controller.start()
        return self

    def __exit__(self, *unused) -> None:
        self.controller.stop()

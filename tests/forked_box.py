"""bubblewrap as a job has it: every program is a fork, and a test in which one is not fails."""

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.settings import SandboxSettings


class Forks(BubblewrapSandbox):
    """Opened for each run, in whatever event loop it comes from, or by `async with` for several.

    Args:
        as_user: Whether all is done as an ordinary user's would be, in a user namespace, even by root, for
            whom the kernel holds no limit on processes there.
    """

    def __init__(self, settings=None, *, as_user=False):
        super().__init__(settings or SandboxSettings())
        self._as_user = as_user
        self._inside = 0

    async def __aenter__(self):
        self._inside += 1
        return self

    async def __aexit__(self, *_):
        self._inside -= 1
        if not self._inside:
            await self.close()

    async def run(self, program, limits=None):
        async with self:
            await self.open(1)
            server = await self._server(program.hash_seed)
            assert server is not None
            assert server.works
            return await super().run(program, limits)

    def _user(self):
        return None if self._as_user else super()._user()

    async def _run_alone(self, program, limits, folders):
        raise AssertionError("the program was not run by the interpreter that waits")


BOXES = {"forks": Forks, "forks of an ordinary user": lambda: Forks(as_user=True)}

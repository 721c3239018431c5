"""The code of a small repository, which tests of code search search."""

TILL = """\
class Till:
    def give_change(self, paid, price):
        left = paid - price
        return self.coins_of(left)

    def coins_of(self, left):
        return [coin for coin in COINS if coin <= left]


class Door:
    def lock(self):
        self.locked = True


def open_drawer(drawer):
    drawer.open()
"""

"""Small projects of our own in four languages, each with a package that is not there."""

from __future__ import annotations

from pathlib import Path

FILLED = "\n".join(f"    print({number})" for number in range(9))

PYTHON = {
    "shop/__init__.py": "",
    "shop/till.py": """import money_of_elsewhere

class Till:
    def open_drawer(self, key):
        return key

    def count_coins(self):
        return money_of_elsewhere.count()

FLOAT = 3
""",
    "shop/tools/scale.py": "def weigh(thing):\n    return 1\n",
    "main.py": f"""import os
import money_of_elsewhere
import shop.tools.scale
from shop import till as tills
from shop.till import (
    Till,
)


def main():
    till = Till()
{FILLED}
    if till.open_drawer("ä", os.sep):
        coins = till.count_coins() + tills.FLOAT
    weight = shop.tools.scale.weigh(coins)
    till.count_coins()
    money_of_elsewhere.unknown(coins)
    return os.nothing(weight)
""",
}
"""Names of other files are in `main.py`: open_drawer, count_coins, FLOAT and weigh."""

_JAVA_LINES = "\n".join(f"        System.out.println({number});" for number in range(20))
JAVA = {
    "src/main/java/shop/parts/Till.java": """package shop.parts;

import org.elsewhere.Money;

public class Till<T> {
    public static final int FLOAT = 3;

    public T openDrawer(T key) {
        return key;
    }

    public Money countCoins() {
        return null;
    }
}
""",
    "src/main/java/shop/parts/Broken.java": """package shop.parts;

public class Broken extends IllegalStateException {
    public int drawer;
}
""",
    "src/main/java/shop/Main.java": f"""package shop;

import java.util.List;
import org.elsewhere.Money;
import shop.parts.*;
import static shop.parts.Till.FLOAT;

public class Main {{
    public static int run(Till<String> till) {{
{_JAVA_LINES}
        Money money = till.countCoins();
        money.print();
        try {{
            String key = till.openDrawer("ä");
        }} catch (Broken broken) {{
            System.out.println(broken.getMessage() + broken.drawer);
        }}
        return List.of(money).size() + FLOAT;
    }}
}}
""",
}
"""Names of other files are in `Main.java`: countCoins, openDrawer, drawer and FLOAT."""

_SCRIPT_LINES = "\n".join(f"  console.log({number});" for number in range(30))
TYPESCRIPT = {
    "src/lib/till.ts": """import { Money } from "money-of-elsewhere";

export interface Drawer { size: number }
export class Till {
  static make(): Till { return new Till(); }
  count(): Money { return null as any; }
}
export function openTill(name: string): Drawer { return { size: 1 }; }
""",
    "src/shown.tsx": """import React from "react";
import { openTill as open } from "./lib/till.js";

export const Shown = () => <b>{open("a").size}</b>;
""",
    "src/main.ts": f"""import {{ Till, type Drawer }} from "./lib/till";
import * as tills from "./lib/till";
import {{ Money }} from "money-of-elsewhere";

function run(till: Till, drawer: Drawer): number {{
{_SCRIPT_LINES}
  const money: Money = till.count();
  money.print();
  const made = Till.make();
  const opened = tills.openTill("ä");
  return drawer.size + money.unknown;
}}
""",
}
"""Names of other files are in `main.ts`: Till, Drawer, count, tills, make, openTill and size."""

CSHARP = {
    "Shop/Till.cs": """using Elsewhere.Money;

namespace Shop.Parts
{
    public class Till<T>
    {
        public const int Float = 3;
        public Coin Last { get; set; }
        public T OpenDrawer(T key) { return key; }
        public override void OnStart() { }
    }

    public enum Size { Small, Large }
}
""",
    "Shop/Base.cs": """using Microsoft.Extensions.Logging;

namespace Shop
{
    public abstract class Base : Elsewhere.Thing<int>
    {
        private readonly ILogger<Base> log;
        protected int coins = 3;
        public virtual int CountCoins() { log.Write("x"); return coins; }
    }
}
""",
    "Shop/Modern.cs": "namespace Shop;\n\npublic record Modern(int Number);\n",
    "Shop/Main.cs": """using System;
using Elsewhere.Testing;
using Shop.Parts;

namespace Shop
{
    [Collection("a", Order = 3)]
    public class Main : Base, IAmElsewhere
    {
        public override int CountCoins() { return coins + 1; }

        [Fact]
        public static int Run(string ä)
        {
            var till = new Till<string>();
            Console.WriteLine(till.OpenDrawer(ä));
            Console.WriteLine(Till<int>.Float);
            Console.WriteLine(till.Last.Value);
            return (int)Size.Small;
        }
    }
}
""",
}
"""Names of other files are in `Main.cs`: coins, OpenDrawer, Float, Last and Small."""

PROJECTS = {"csharp": CSHARP, "java": JAVA, "python": PYTHON, "typescript": TYPESCRIPT}
NAMES = {
    "csharp": {"coins", "OpenDrawer", "Float", "Last", "Small"},
    "java": {"countCoins", "openDrawer", "drawer", "FLOAT"},
    "python": {"open_drawer", "count_coins", "FLOAT", "weigh"},
    "typescript": {"Till", "Drawer", "count", "tills", "make", "openTill", "size"},
}
"""The names that are found in the file with the most of them, by language."""


def write_project(folder: Path, language: str) -> Path:
    """Write the project of a language into a folder."""
    for path, text in PROJECTS[language].items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder

"""The configuration: where values come from, and what is said of wrong ones."""

import re
from string import ascii_lowercase, digits

import pytest

from screens.settings import ScreenSettings, SettingRefused
from store.errors import JudgmentRefused, WorkbenchError
from workbench.config import Config, leaves, load_config, variable
from workbench.rater import rater_name
from workbench.toml_lines import line_of


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def refused(path):
    with pytest.raises(WorkbenchError) as caught:
        load_config(path)
    return caught.value


def origins(loaded):
    return {setting.name: setting.origin for setting in loaded.settings}


def test_without_a_file_everything_is_the_default():
    loaded = load_config()
    assert not loaded.found
    assert loaded.config == Config()
    assert set(origins(loaded).values()) == {"default"}


def test_the_users_own_file_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "workbench").mkdir()
    (tmp_path / "workbench" / "config.toml").write_text('rater = "dana"\n', encoding="utf-8")
    assert load_config().config.rater == "dana"


def test_a_file_can_be_named_by_option_and_by_variable(monkeypatch, write, tmp_path):
    named = write('rater = "dana"\n')
    monkeypatch.setenv("WORKBENCH_CONFIG", str(named))
    assert load_config().config.rater == "dana"
    other = tmp_path / "other.toml"
    other.write_text('rater = "eli"\n', encoding="utf-8")
    assert load_config(other).config.rater == "eli"


def test_a_named_file_must_be_there(monkeypatch, tmp_path):
    assert str(tmp_path / "none.toml") in refused(tmp_path / "none.toml").message
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "nor-this.toml"))
    assert "nor-this.toml" in refused(None).message


def test_every_section_is_read_with_its_line(write):
    path = write(
        'rater = "dana"\n'
        'workspace = "study.duckdb"\n'
        "\n"
        "[screens]\n"
        'theme = "nord"\n'
        "[screens.keys]\n"
        '"review.accept" = "l"\n'
        "[agents]\n"
        'model = "openai:some-model"\n'
        "concurrency = 3\n"
        "[models]\n"
        'temperature = "default"\n'
        "[sandbox]\n"
        "wall_seconds = 4\n"
    )
    loaded = load_config(path)
    config = loaded.config
    assert config.screens.theme == "nord"
    assert config.screens.keys == {"review.accept": "l"}
    assert config.agents.concurrency == 3
    assert config.models.temperature is None
    assert config.sandbox.limits.wall_seconds == 4.0
    where = origins(loaded)
    assert where["rater"] == f"{path}:1"
    assert where["screens.keys"] == f"{path}:6"
    assert where["agents.concurrency"] == f"{path}:10"
    assert where["screens.wrap"] == "default"


def test_the_environment_goes_before_the_file_key_by_key(monkeypatch, write):
    path = write('rater = "dana"\n[screens]\ntheme = "nord"\nwrap = false\n')
    monkeypatch.setenv("WORKBENCH_SCREENS__THEME", "textual-light")
    monkeypatch.setenv("WORKBENCH_AGENTS__CONCURRENCY", "5")
    loaded = load_config(path)
    assert loaded.config.screens.theme == "textual-light"
    assert loaded.config.screens.wrap is False
    assert loaded.config.agents.concurrency == 5
    assert origins(loaded)["screens.theme"] == "WORKBENCH_SCREENS__THEME"


def test_every_setting_has_the_variable_that_is_documented(monkeypatch):
    values = {"keys": "{}", "reasons": '{"k": "odd"}', "undecided": '{"k": "odd"}', "seed": "7"}
    values |= {"temperature": "0.5", "configurations": "{}", "prices": "{}", "seen_seconds": "0.5"}
    values |= dict.fromkeys(["money", "tokens", "requests", "pairs", "sandboxes"], "7")
    places = [place for place, _ in leaves(Config())]
    for place, value in leaves(Config()):
        # Any text is right where nothing is set, and an address is also right where one is wanted.
        text = values.get(place[-1]) or ("http://localhost:1/v1" if value in (None, "") else str(value))
        monkeypatch.setenv(variable(place), text)
    assert origins(load_config()) == {".".join(place): variable(place) for place in places}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('ratr = "dana"\n', ["line 1", "ratr", "did you mean rater?", "workspace"]),
        ('[screens]\n\ntheem = "nord"\n', ["line 3", "screens.theem", "did you mean theme?"]),
        ('rater = "x"\n[agents]\nconcurrency = "8"\n', ["line 3", "agents.concurrency", "valid integer"]),
        ("[agents]\nconcurrency = 0\n", ["line 2", "agents.concurrency", "greater than or equal to 1"]),
        ('[models]\nopenai_structured = "xml"\n', ["line 2", "models.openai_structured", "'json_object'"]),
        ('[models]\nopenai_base_url = "localhost:11434"\n', ["line 2", "models.openai_base_url", "http"]),
        ('[screens.keys]\n"review.acept" = "e"\n', ["line 1", "screens", "review.acept"]),
        ('screens = "dark"\n', ["line 1", "screens", "object"]),
        ("[screens]\nseen_seconds = 11\n", ["line 2", "screens.seen_seconds", "from 0 to 10"]),
        ("[nothing]\nx = 1\n", ["line 1", "nothing", "no such setting"]),
        (
            '[agents]\nconfiguration = "ful"\n',
            ["line 2", "agents.configuration", "'ful'", "ps-tpg-sim-fa, paper, full"],
        ),
        ("[agents.roles.arbiter]\ntemperature = 3\n", ["line 2", "number from 0 to 2"]),
        ('[agents.roles.arbiter]\ntemperature = "1"\n', ["line 2", "number from 0 to 2"]),
        ("[agents.configurations.a.roles.screner]\n", ["line 1", "roles.screner", "did you mean screener?"]),
        ('[agents.configurations.a]\nbased_on = "b"\n', ["line 2", "based_on", "'b'", "choose from single"]),
        ("[agents.configurations.full]\n", ["line 1", "full is one of ours"]),
        ('[agents.configurations."a b"]\n', ["line 1", "'a b' is no name"]),
        (
            '[agents]\nconfiguration = "a"\n[agents.configurations.a]\nbased_on = "ps-fa"\n'
            '[agents.configurations.a.roles.test_writer]\nmodel = "openai:x"\n',
            ["line 3", "ps-fa has no test_writer; its roles are screener, arbiter"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_what_is_allowed(write, text, says):
    path = write(text)
    message = refused(path).message
    assert str(path) in message
    for part in says:
        assert part in message


def test_all_mistakes_are_named_at_once(write):
    message = refused(write("rater = 1\nworkspace = 2\n")).message
    assert "line 1" in message
    assert "line 2" in message


def test_a_wrong_variable_is_named(monkeypatch):
    monkeypatch.setenv("WORKBENCH_AGENTS__CONCURRENCY", "many")
    assert "WORKBENCH_AGENTS__CONCURRENCY: agents.concurrency" in refused(None).message


def test_a_table_in_a_variable_must_be_json(monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__KEYS", "{oops")
    assert refused(None).title == "Configuration not understood"


def test_what_is_no_toml_and_what_is_no_text_is_said(write, tmp_path):
    assert "line 2" in refused(write('rater = "dana"\nworkspace =\n')).message
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"rater = \xff\n")
    assert str(binary) in refused(binary).message


def test_no_secret_is_shown(write, monkeypatch):
    monkeypatch.setenv("WORKBENCH_MODELS__ANTHROPIC_API_KEY", "sk-first-secret")
    path = write('[models]\nopenai_api_key = "sk-second-secret"\n')
    text = repr(load_config(path))
    assert "sk-" not in text
    assert {one.name: one.value for one in load_config(path).settings}["models.openai_api_key"] == "set"
    wrong = refused(
        write('[models]\nopenai_api_key = "sk-third-secret"\nopenai_api_kee = "sk-fourth-secret"\n')
    )
    assert "sk-" not in str(wrong)


def test_variables_that_nothing_reads_are_noticed(monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATTER", "dana")
    monkeypatch.setenv("WORKBENCH_RATER", "dana")
    monkeypatch.setenv("WORKBENCH_SCREENS__REASONS__I", "odd")
    assert load_config().unread == ("WORKBENCH_RATTER",)


@pytest.mark.parametrize(
    ("given", "configured", "expected"),
    [
        ("eli", "dana", "eli"),
        (None, "dana", "dana"),
        (" eli ", "dana", "eli"),
        (None, " ", None),
        (None, None, "login"),
    ],
)
def test_the_rater_is_the_given_one_the_configured_one_or_the_login_name(
    monkeypatch, given, configured, expected
):
    monkeypatch.setenv("LOGNAME", "login")
    assert rater_name(given, Config(rater=configured)) == expected


@pytest.mark.parametrize("name", ["", " ", "da\x1b[31mna", "da\nna", "da\u202ena", "da\u200bna", "\ud800"])
def test_a_name_that_cannot_be_seen_is_no_raters_name(name):
    with pytest.raises(JudgmentRefused) as refused:
        rater_name(name, Config(rater="dana"))
    assert "--rater NAME" in refused.value.hint
    if name.strip():
        with pytest.raises(JudgmentRefused, match="control characters"):
            rater_name(None, Config(rater=name))


def test_names_of_every_script_can_be_a_raters():
    for name in ("Zoë", "李 娜", "נָעֳמִי", "علی‌رضا", "O'Neil-3"):
        assert rater_name(name, Config()) == name


def test_lines_are_found_in_every_way_to_write_a_key():
    text = "\n".join(
        [
            "# a = 1",
            "top = 1",
            "[a]",
            "b.c = 2",
            "'quoted key' = 3",
            '[a."d"]',
            "e = { f = 4 }",
            "[[list]]",
            "g = 5",
        ]
    )
    assert line_of(text, ("top",)) == 2
    assert line_of(text, ("a", "b", "c")) == 4
    assert line_of(text, ("a", "quoted key")) == 5
    assert line_of(text, ("a", "d", "e", "f")) == 7
    assert line_of(text, ("a",)) == 3
    assert line_of(text, ("list", "g")) == 9
    assert line_of(text, ("nowhere",)) is None


def test_the_keys_as_they_come_have_one_meaning_each():
    ScreenSettings().check_keys()


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"list.up": "r"}, "'r' would be both"),
        ({"filter.reset": "h"}, "'h' would be both"),
        ({"order.turn": "t"}, "'t' would be both"),
        ({"order.up": "down"}, "'down' would be both"),
        ({"text.up": "n"}, "'n' would be both"),
        ({"review.label_1": "M"}, "review.label_1 records: its key is a lower-case letter or digit"),
        ({"review.label_1": "w"}, "'w' is the code of the reason .* and the key of review.label_1"),
    ],
)
def test_a_key_with_two_meanings_is_refused_in_lists_dialogs_and_panes(keys, told):
    with pytest.raises(SettingRefused, match=told):
        ScreenSettings(keys=keys)


def test_the_code_of_a_reason_that_is_a_key_is_told_with_what_mends_either_side(write):
    told = refused(
        write('rater = "x"\n[screens.reasons]\nw = "wrong"\nr = "rounds"\ne = "ends"\na = "all"\n')
    )
    assert "line 4: screens.reasons.r" in told.message
    for code, action, key in (("r", "run", "f2"), ("e", "edit", "f3"), ("a", "accept", "l")):
        assert f"{code!r} is the code of the reason" in told.message
        assert f'[screens.keys], such as "review.{action}" = "{key}"' in told.message
    free = re.search(r"letter or digit in \[screens.reasons\] \(([^)]*)\)", told.message)[1].split()
    # Either side does it, as it was told.
    reasons = {"w": "wrong", "r": "rounds", "e": "ends", "a": "all"}
    keys = {"review.run": "f2", "review.edit": "f3", "review.accept": "l"}
    assert ScreenSettings(keys=keys, reasons=reasons)
    assert ScreenSettings(reasons=dict(zip(free, reasons.values(), strict=False)))


def test_only_keys_that_can_be_typed_are_proposed_for_a_conflict():
    with pytest.raises(SettingRefused) as refused:
        ScreenSettings(reasons={code: code for code in ascii_lowercase + digits})
    proposed = dict(re.findall(r'"(review\.\w+)" = "([^"]+)"', str(refused.value)))
    assert set(proposed.values()) <= {f"f{number}" for number in range(1, 13)}
    assert "no key is free" in str(refused.value)
    assert ScreenSettings(keys=proposed)

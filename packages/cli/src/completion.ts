/** `pawl completion`: scripts for shells, made from the commands themselves, so that no word is forgotten or invented. */
import { PawlError } from "@pawl/core";
import type { Command, Option } from "commander";

interface Words {
  /** `config trust`; empty for the program itself. */
  path: string;
  description: string;
  commands: string[];
  options: {
    flag: string;
    short: string | undefined;
    description: string;
    takes: "nothing" | "folder" | "file" | "words";
    choices: string[];
  }[];
}

const shells: { [name: string]: (all: readonly Words[]) => string } = { bash, zsh, fish };

/** Fails with INVALID_INPUT for a shell that is unknown. */
export function completionScript(program: Command, shell: string): string {
  const make = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (make) return make(wordsOf(program, ""));
  throw new PawlError("INVALID_INPUT", `${JSON.stringify(shell)}: write one of ${Object.keys(shells).join(", ")}`);
}

function wordsOf(command: Command, path: string): Words[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== "help");
  const inner = commands.flatMap((one) => wordsOf(one, `${path} ${one.name()}`.trim()));
  const options = help.visibleOptions(command).map((option) => ({
    flag: option.long ?? option.short ?? "",
    short: option.long ? option.short : undefined,
    description: (option.description.split(/[(:;]/)[0] ?? "").trim(),
    takes: takes(option),
    choices: option.argChoices ?? [],
  }));
  return [{ path, description: command.description(), commands: commands.map((one) => one.name()), options }, ...inner];
}

function takes({ flags }: Option): "nothing" | "folder" | "file" | "words" {
  const [, value] = /[<[]([A-Z_:]+)/.exec(flags) ?? [];
  if (value === undefined) return "nothing";
  return value === "DIR" ? "folder" : value === "FILE" ? "file" : "words";
}

function bash(all: readonly Words[]): string {
  const cases = all.flatMap(({ path, options, commands }) => {
    const words = [...commands, ...options.flatMap(({ flag, short }) => (short ? [flag, short] : [flag]))].join(" ");
    return [`    "${path}") words="${words}" ;;`];
  });
  const values = all.flatMap(({ path, options }) =>
    options.flatMap(({ flag, takes, choices }) => {
      if (takes === "nothing") return [];
      return [`    "${path} ${flag}"|"${path} ${flag}"=*) ${replied(takes, choices)} return ;;`];
    }),
  );
  const paths = all.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|");
  return `# pawl completion bash: eval "$(pawl completion bash)"
_pawl() {
  local cur prev path word words next
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  path=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
    ${paths}) path="$next" ;;
    esac
  done
  case "$path $prev" in
${values.join("\n")}
  esac
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _pawl pawl
`;
}

/** Names of files hold blanks: one to a line, and quoted where the shell can (bash 3 of macOS cannot). */
function replied(takes: "folder" | "file" | "words", choices: readonly string[]): string {
  if (takes !== "words") {
    const names = `COMPREPLY=($(compgen ${takes === "folder" ? "-d" : "-f"} -- "$cur"));`;
    return `compopt -o filenames 2>/dev/null; local IFS=$'\\n'; ${names}`;
  }
  return choices.length === 0 ? "COMPREPLY=();" : `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$cur"));`;
}

/** It reads what bash's `complete` says. */
function zsh(all: readonly Words[]): string {
  return `#compdef pawl
# pawl completion zsh: eval "$(pawl completion zsh)"
autoload -U +X bashcompinit && bashcompinit
${bash(all).replace(/^#.*\n/, "")}`;
}

function fish(all: readonly Words[]): string {
  const text = (words: string) => `'${words.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = all.flatMap(({ path, commands, options }) => {
    const names = path.split(" ").filter((name) => name !== "");
    const inside = names.map((name) => `__fish_seen_subcommand_from ${name}`).join("; and ");
    const at = path === "" ? "__fish_use_subcommand" : inside;
    const inner =
      commands.length === 0
        ? ""
        : path === ""
          ? at
          : `${at}; and not __fish_seen_subcommand_from ${commands.join(" ")}`;
    return [
      ...commands.map((name) => {
        const described = all.find((one) => one.path === `${path} ${name}`.trim())?.description ?? "";
        return `complete -c pawl -f -n ${text(inner)} -a ${name} -d ${text(described)}`;
      }),
      ...options.map(({ flag, short, description, takes, choices }) => {
        const value =
          takes === "nothing"
            ? ""
            : choices.length > 0
              ? ` -x -a ${text(choices.join(" "))}`
              : takes === "folder"
                ? " -x -a '(__fish_complete_directories)'"
                : " -r";
        return `complete -c pawl -n ${text(at)} -l ${flag.replace(/^-+/, "")}${short ? ` -s ${short.slice(1)}` : ""}${value} -d ${text(description)}`;
      }),
    ];
  });
  return `# pawl completion fish: pawl completion fish | source\n${lines.join("\n")}\n`;
}

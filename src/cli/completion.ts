/** `completion`: scripts with which shells complete commands, options and names. */
import { Argument, type Command } from "commander";
import type { CliContext, Outcome } from "./context.js";

/** The word with which the scripts ask for candidates: `__complete WORD…`, the last one being completed. */
export const COMPLETE = "__complete";

/** In place of candidates where files are meant, which shells know best. */
export const FILES = ":files";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const EXAMPLES = `
Examples:
  ducklake-ivm completion bash > ~/.local/share/bash-completion/completions/ducklake-ivm
  ducklake-ivm completion zsh > ~/.zfunc/_ducklake-ivm
  ducklake-ivm completion fish > ~/.config/fish/completions/ducklake-ivm.fish`;

export function registerCompletion(program: Command, context: CliContext): void {
  program
    .command("completion")
    .description("print a script with which a shell completes commands, options and names of views")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", EXAMPLES)
    .action((shell: Shell, _options: object, command: Command) =>
      context.run(command, async (): Promise<Outcome> => {
        const script = SCRIPTS[shell];
        return { json: { shell, script }, lines: [script] };
      }),
    );
}

/**
 * Bash splits words at `:` and `=` too, and puts what is chosen behind the last of them; so the words are read from the
 * line, and what stands before is taken off the candidates.
 */
const BASH = `# bash completion of ducklake-ivm
_ducklake_ivm() {
  local line="\${COMP_LINE:0:COMP_POINT}" word prefix candidate
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word="\${words[\${#words[@]} - 1]}"
  prefix="\${word%"\${word##*[:=]}"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate _; do
    if [[ $candidate == "${FILES}" ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${candidate#"$prefix"}")
    fi
  done < <("\${words[0]}" ${COMPLETE} "\${words[@]:1}" 2>/dev/null)
}
complete -F _ducklake_ivm ducklake-ivm`;

const ZSH = `#compdef ducklake-ivm
# zsh completion of ducklake-ivm
_ducklake_ivm() {
  local -a found candidates
  local line value
  found=("\${(@f)$("\${(Q)words[1]}" ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == "${FILES}" ]]; then
    _files
    return
  fi
  for line in $found; do
    value="\${\${line%%$'\\t'*}//:/\\\\:}"
    [[ $line == *$'\\t'* ]] && value+=":\${line#*$'\\t'}"
    candidates+=("$value")
  done
  _describe 'ducklake-ivm' candidates
}
if [[ $funcstack[1] == _ducklake-ivm ]]; then
  _ducklake_ivm "$@"
else
  compdef _ducklake_ivm ducklake-ivm
fi`;

const FISH = `# fish completion of ducklake-ivm
function __ducklake_ivm_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($before[1] ${COMPLETE} $before[2..-1] "$current" 2>/dev/null)
  if test "$found[1]" = "${FILES}"
    __fish_complete_path "$current"
  else
    printf '%s\\n' $found
  end
end
complete -c ducklake-ivm -f -a '(__ducklake_ivm_complete)'`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

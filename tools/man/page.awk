# SPDX-License-Identifier: Apache-2.0
# A manual page from what `spillway COMMAND --help` prints (`spillway --help` when COMMAND is empty), so
# that the two cannot differ.
#   awk -v command=run -v summary='run a program' -v version=0.1.0 -v commands='run plan' -f page.awk
function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text) # would be a request of roff
    return text
}
function bold(text) { return "\\fB" escape(text) "\\fR" }
# Options in bold, what stands for a value in italics: "-o, --output=FILE"
function tag(text,    n, i, list, out) {
    n = split(text, list, ", ")
    for (i = 1; i <= n; i++) {
        out = out (i > 1 ? ", " : "")
        if (match(list[i], /=/))
            out = out bold(substr(list[i], 1, RSTART - 1)) "=\\fI" escape(substr(list[i], RSTART + 1)) "\\fR"
        else
            out = out bold(list[i])
    }
    return out
}
# Text goes to a section, whichever comes first in --help: its -h may stand behind the settings.
function put(line) { body[current] = body[current] line "\n" }
function section(name) {
    current = name
    if (!(name in body)) { order[++sections] = name; body[name] = "" }
    fresh = 1
}
function indent() { return match($0, /^ +/) ? RLENGTH : 0 } # no {n,}: mawk has none
function paragraph() { if (!fresh) put(".PP"); fresh = 0 }
function row(left, right) { put(".TP"); put(tag(left)); if (right != "") put(escape(right)); fresh = 1 }

BEGIN {
    name = command == "" ? "spillway" : "spillway-" command
    printf ".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made by tools/man/page.awk from the command's --help.\n"
    printf ".TH %s 1 \"\" \"spillway %s\" \"User Commands\"\n", toupper(escape(name)), version
    section("NAME")
    put(escape(name) " \\- " escape(summary))
    part = "head"
}
/^Usage: / {
    section("SYNOPSIS")
    sub(/^Usage: /, "")
    words = command == "" ? 1 : 2
    used = ""
    for (i = 1; i <= words; i++) used = used (i > 1 ? " " : "") $i
    put(bold(used) escape(substr($0, length(used) + 1)))
    section("DESCRIPTION")
    fresh = 1
    next
}
/^$/ { blank = NR; open = 0; verbatim = verbatim == 1 ? end_verbatim() : 0; next }
function end_verbatim() { put(".fi"); return 0 }
function start_verbatim() { if (!verbatim) { put(".nf"); verbatim = 1 } }

# A row of options, of settings or of commands: what it is about, two blanks or more, the text.
indent() < 10 && /^ +(-|[A-Z_]+ )/ && !verbatim && part != "examples" {
    part = "rows"
    if ($1 ~ /^-/) section("OPTIONS")
    text = $0
    sub(/^ +/, "", text)
    if (match(text, /  +/)) row(substr(text, 1, RSTART - 1), substr(text, RSTART + RLENGTH))
    else row(text, "")
    next
}
indent() > 20 && part == "rows" { sub(/^ +/, ""); put(escape($0)); next }
/^ Environment/ { section("ENVIRONMENT"); sub(/^ /, ""); put(escape($0)); part = "settings"; next }
/^Environment/ { section("ENVIRONMENT"); put(escape($0)); part = "text"; next }
/^Examples:/ { section("EXAMPLES"); part = "examples"; start_verbatim(); next }
/^Commands:/ { section("COMMANDS"); part = "commands"; next }
/^Exit status:/ { section("EXIT STATUS"); sub(/^Exit status: */, ""); put(escape($0)); part = "text"; open = 1; next }
part == "commands" && /^  / { text = $1; sub(/^ +[^ ]+ +/, ""); put(".TP"); put("\\fBspillway\\-" text "\\fR(1)"); put(escape($0)); next }
/^[A-Za-z].*:$/ && blank == NR - 1 && part != "head" { section(toupper(substr($0, 1, length($0) - 1))); part = "list"; start_verbatim(); next }
/^  / && (part == "examples" || part == "list") { start_verbatim(); put(escape(substr($0, 3))); next }
{
    if ((part == "rows" || part == "examples" || part == "list") && notes++ == 0) { section("NOTES"); part = "text"; open = 1; fresh = 0 }
    else if (!open) { paragraph(); open = 1 }
    sub(/^ +/, "")
    put(escape($0))
}
END {
    if (verbatim == 1) put(".fi")
    section("SEE ALSO")
    n = split(commands, list, " ")
    out = command == "" ? "" : "\\fBspillway\\fR(1)"
    for (i = 1; i <= n; i++)
        if (list[i] != command) out = out (out == "" ? "" : ",\n") "\\fBspillway\\-" list[i] "\\fR(1)"
    put(out)
    for (i = 1; i <= sections; i++)
        printf ".SH %s\n%s", order[i], body[order[i]]
}

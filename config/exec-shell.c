/* See exec-shell.h. Whoever comes from cron writes
 * "> /dev/null 2>&1" without a thought; here it is handed to the program as three words. */
#include "exec-shell.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define WHITESPACE " \t\n\r"
/* What a shell takes to the letter. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

/* Return: whether the word is, or begins with, a redirection: ">", "2>&1", "&>log", "<file". */
static bool is_redirection(const char *word) {
        const char *sign = word + strspn(word, "0123456789");

        if (*sign == '&' && sign[1] == '>')
                return true;
        return *sign == '>' || (*sign == '<' && sign[1] != '(');
}

/* Return: whether the word is, or ends with, what stands between two commands. */
static bool is_operator(const char *word) {
        static const char *const operators[] = {"|", "||", "|&", "&", "&&", ";", ";;", NULL};
        size_t length = strlen(word);

        return g_strv_contains(operators, word) ||
               (length > 1 && (word[length - 1] == ';' || word[length - 1] == '|' ||
                               g_str_has_suffix(word, "&&")));
}

/* Return: whether a shell would look for files of that name. */
static bool is_pattern(const char *word) {
        return (*word == '/' && strpbrk(word, "*?")) || g_str_has_prefix(word, "~/");
}

/* Return: whether what follows a "$" or "`" is the output of a command. */
static bool is_substitution(const char *text) {
        return *text == '`' || g_str_has_prefix(text, "$(");
}

/* Return: whether one of the words is a shell, or a program that has one read its arguments. */
static bool has_shell(const char *text) {
        static const char *const shells[] = {"sh",  "bash", "dash", "ash", "zsh",
                                             "ksh", "fish", "su",   "ssh", NULL};
        g_auto(GStrv) words = g_strsplit_set(text, WHITESPACE, -1);

        for (char **word = words; *word; word++) {
                g_autofree char *name = g_path_get_basename(*word);

                if (**word && (g_strv_contains(shells, name) || g_str_equal(*word, "-c")))
                        return true;
        }
        return false;
}

/* Reads one word that begins at *text. Return: what of it is a shell's, newly allocated; NULL when
 * nothing is. A word with a quote or an escape in it was written with care: only substitutions in
 * double quotes are looked for. */
static char *take_shell_word(const char **text, bool for_shell) {
        const char *start = *text, *substitution = NULL;
        bool careful = false;
        char quote = 0;

        for (; **text && (quote || !strchr(WHITESPACE, **text)); (*text)++) {
                char c = **text;

                if (c == '\\' && (*text)[1]) {
                        careful = true;
                        (*text)++;
                } else if (quote ? c == quote : c == '"' || c == '\'') {
                        careful = true;
                        quote = (char)(quote ? 0 : c);
                } else if (quote != '\'' && !substitution && is_substitution(*text) &&
                           !(quote && for_shell)) {
                        substitution = *text;
                }
        }
        if (substitution)
                return g_strdup(*substitution == '`' ? "`" : "$(");
        if (!careful) {
                g_autofree char *word = g_strndup(start, (size_t)(*text - start));

                if (is_redirection(word) || is_operator(word) || is_pattern(word))
                        return g_steal_pointer(&word);
        }
        return NULL;
}

char *exec_shell_syntax(const char *text) {
        bool for_shell = has_shell(text);

        for (text += strspn(text, WHITESPACE); *text; text += strspn(text, WHITESPACE)) {
                char *syntax = take_shell_word(&text, for_shell);

                if (syntax)
                        return syntax;
        }
        return NULL;
}

/* A command line of several lines is one all the same. */
bool exec_has_lines(const char *text) {
        bool first = true;

        while (*text) {
                size_t space = strspn(text, WHITESPACE);

                if (!first && text[space] && memchr(text, '\n', space))
                        return true;
                text += space;
                first = false;
                g_free(take_shell_word(&text, false));
        }
        return false;
}

/* Return: whether the argument is of nothing but a shell's signs: ">", "2>&1", "&&". */
static bool is_signs(const char *word) {
        return *word && !word[strspn(word, "0123456789<>&|")] && strpbrk(word, "<>&|");
}

const char *exec_list_sign(const char *const *argv, unsigned *ret_index) {
        static const char *const takers[] = {"test", "[", "expr", NULL};
        g_autofree char *program = g_path_get_basename(argv[0] ? argv[0] : "");
        g_autofree char *line = g_strjoinv(" ", (char **)argv);

        if (has_shell(line) || g_strv_contains(takers, program))
                return NULL;
        for (unsigned i = 1; argv[0] && argv[i]; i++) {
                if (!is_signs(argv[i]))
                        continue;
                *ret_index = i;
                return argv[i];
        }
        return NULL;
}

char *exec_list_in_shell(const char *const *argv) {
        g_autoptr(GString) line = g_string_new(NULL);

        for (; *argv; argv++) {
                bool bare = is_signs(*argv) || !(*argv)[strspn(*argv, PLAIN)];
                g_autofree char *word = bare && **argv ? g_strdup(*argv) : g_shell_quote(*argv);

                g_string_append_printf(line, "%s%s", line->len > 0 ? " " : "", word);
        }
        return exec_in_shell(line->str);
}

char *exec_quoted(const char *text) {
        GString *out = g_string_new("\"");

        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        g_string_append_c(out, '\\');
                if (*text == '\n' || *text == '\t')
                        g_string_append(out, *text == '\n' ? "\\n" : "\\t");
                else
                        g_string_append_c(out, *text);
        }
        return g_string_free(g_string_append_c(out, '"'), FALSE);
}

char *exec_in_shell(const char *text) {
        g_autofree char *quoted = strlen(text) > EXEC_SHOWN_MAX ? NULL : exec_quoted(text);

        return g_strdup_printf("[/bin/sh, -c, %s]", quoted ? quoted : "\"...\"");
}

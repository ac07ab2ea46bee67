"""What can be changed in a C file: one place, one meaning, found in clang's syntax tree, so that a mutant compiles and says something.

Left out are log lines and assertions (their arguments too), what stands inside a macro's use, and everything outside of functions.
Offsets are bytes. A mutant keeps the number of lines, or __LINE__ would make two files of one.
"""

import collections
import hashlib
import re

from clang.cindex import CursorKind, Index, TranslationUnit, TranslationUnitLoadError, TypeKind

# Calls and macros that say something, or that hold for certain: without them, and with other values in them, the program does the same.
SAYING = re.compile(r"log_\w+|g_(debug|info|message|warning|critical|log|print|printerr|assert\w*|return_if_fail|return_val_if_fail)|assert|abort"
                    r"|printf|fprintf|vfprintf|puts|fputs|perror|va_(start|end|copy)|static_assert|_Static_assert")
OPERATORS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*",
             "%": "*", "&": "|", "|": "&", "<<": ">>", ">>": "<<"}
ASSIGNING = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=", "%=": "*="}
BLANK = re.compile(rb"\s+|/\*.*?\*/|//[^\n]*\n", re.S)
LOOPS = (CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.FOR_STMT)
INTEGERS = (TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG, TypeKind.SHORT,
            TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG)


class Mutant(collections.namedtuple("Mutant", "name file line first last kind start end text")):
    """source[start:end] becomes text. `first` and `last`: the lines whose execution reaches it. `name` stays the same while its function's other lines
    and the rest of the file change."""

    def apply(self, source):
        return source[:self.start] + self.text + b"\n" * (source[self.start:self.end].count(b"\n") - self.text.count(b"\n")) + source[self.end:]

    def diff(self, source):
        """The changed lines, with - and +."""
        before, after = (text.decode(errors="replace").splitlines() for text in (source, self.apply(source)))
        changed = [pair for pair in zip(before, after) if pair[0] != pair[1]]  # it has as many lines as before
        return [f"-{old}" for old, _ in changed] + [f"+{new}" for _, new in changed if new.strip("; ")]


def unwrap(cursor):
    """Without implicit casts."""
    while cursor.kind == CursorKind.UNEXPOSED_EXPR:
        children = list(cursor.get_children())
        if len(children) != 1:
            break
        cursor = children[0]
    return cursor


def extent_of(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


class File:
    """One source, parsed. `mutants`: all that there are, in the order of the text."""

    def __init__(self, path, name, arguments):
        with open(path, "rb") as stream:
            self.source = stream.read()
        self.path, self.name, self.mutants, self.seen = path, name, [], collections.Counter()
        self.function, self.result, self.extent = "", None, (0, 0)
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        try:
            unit = Index.create().parse(path, args=arguments, options=options)
        except TranslationUnitLoadError as fault:
            raise RuntimeError(f"{name}: clang cannot read it: {fault}") from fault
        faults = [str(item) for item in unit.diagnostics if item.severity >= 3]
        if faults:
            raise RuntimeError(f"{name}: {faults[0]}")
        here = [cursor for cursor in unit.cursor.get_children() if cursor.location.file and cursor.location.file.name == path]
        self.macros = [(*extent_of(cursor), cursor.spelling) for cursor in here if cursor.kind == CursorKind.MACRO_INSTANTIATION]
        for cursor in here:
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and not self.hidden(*extent_of(cursor)):
                self.visit_function(cursor)
        self.mutants.sort(key=lambda mutant: (mutant.start, mutant.end, mutant.text))

    def hidden(self, start, end):
        """Whether a macro's use covers a part of it, so that the text is not what is compiled."""
        return any(first < end and start < last and not (start <= first and last <= end) for first, last, _ in self.macros)

    def macro(self, start, end):
        """The name of the macro whose use this is; for a loop of a macro's and its body too."""
        return next((name for first, last, name in self.macros if first == start and last <= end), None)

    def line(self, offset):
        return self.source.count(b"\n", 0, offset) + 1

    def add(self, kind, start, end, text, statement=None):
        """`statement`: the range that is executed with it, where that is more."""
        text = text.encode()
        if start >= end or self.hidden(start, end) or text == self.source[start:end]:
            return
        first, last = statement or (start, end)
        words = f"{self.name} {self.function} {kind} {self.source[start:end]!r} {text!r} {self.source.splitlines()[self.line(start) - 1].strip()!r}"
        self.seen[words] += 1
        name = hashlib.sha256(f"{words} {self.seen[words]}".encode()).hexdigest()[:10]
        self.mutants.append(Mutant(name, self.name, self.line(start), self.line(min(first, start)), self.line(min(last, end)), kind, start, end, text))

    def visit_function(self, cursor):
        body = next((child for child in cursor.get_children() if child.kind == CursorKind.COMPOUND_STMT), None)
        if body is not None:
            self.function, self.result, self.extent = cursor.spelling, cursor.result_type.get_canonical(), extent_of(body)
            self.statement(body)

    # Statements

    def statement(self, cursor):
        """One that stands in a block, or alone in a branch."""
        start, end = extent_of(cursor)
        macro = self.macro(start, end)
        if macro and SAYING.fullmatch(macro):
            return
        plain = self.plain(cursor)
        if plain.kind == CursorKind.CALL_EXPR or macro and cursor.kind not in (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DECL_STMT):
            if SAYING.fullmatch(plain.spelling or ""):
                return
            self.add("removed call", start, end, "(void)0")
        elif self.assigns(plain):
            self.add("removed assignment", start, end, "(void)0")
        if cursor.kind == CursorKind.COMPOUND_STMT:
            for child in cursor.get_children():
                self.statement(child)
        elif cursor.kind in (CursorKind.IF_STMT, *LOOPS, CursorKind.SWITCH_STMT):
            self.compound(cursor)
        elif cursor.kind in (CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT, CursorKind.LABEL_STMT):
            self.statement(list(cursor.get_children())[-1])
        elif cursor.kind == CursorKind.RETURN_STMT:
            self.returned(cursor)
        elif cursor.kind == CursorKind.CONTINUE_STMT:
            self.add("removed jump", start, end, "(void)0")
        else:
            self.expression(cursor, (start, end))

    def plain(self, cursor):
        """Without a cast to void, and what belongs to it."""
        cursor = unwrap(cursor)
        while cursor.kind == CursorKind.CSTYLE_CAST_EXPR or self.negates(cursor):
            children = list(cursor.get_children())
            if not children:
                break
            cursor = unwrap(children[-1])
        return cursor

    def negates(self, cursor):
        return cursor.kind == CursorKind.UNARY_OPERATOR and self.source.startswith(b"!", extent_of(cursor)[0])

    def condition(self, cursor, statement=None):
        """One that is a negation as a whole is negated by its own sign."""
        start, end = extent_of(cursor)
        if not self.negates(unwrap(cursor)):
            self.add("negated condition", start, end, f"!({self.source[start:end].decode()})", statement)

    def assigns(self, cursor):
        if cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
            return True
        if cursor.kind == CursorKind.BINARY_OPERATOR:
            return self.operator(cursor)[2] == "="
        return cursor.kind == CursorKind.UNARY_OPERATOR and any(sign in self.source[slice(*extent_of(cursor))] for sign in (b"++", b"--"))

    def compound(self, cursor):
        """A statement with a head: `if`, loops, `switch`."""
        children = list(cursor.get_children())
        bodies = children[1:] if cursor.kind == CursorKind.IF_STMT else children[:1] if cursor.kind == CursorKind.DO_STMT else children[-1:]
        for child in children:
            if child in bodies:
                self.statement(child)
            else:
                if cursor.kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT):
                    self.condition(child)
                self.expression(child, extent_of(child))

    def returned(self, cursor):
        start, end = extent_of(cursor)
        value = next(iter(cursor.get_children()), None)
        if value is None:
            rest = re.sub(BLANK, b"", self.source[end:self.extent[1]])
            if rest != b";}":
                self.add("removed return", start, end, "(void)0")
            return
        other = self.other_value(value, self.source[slice(*extent_of(value))].decode())
        if other is not None:
            self.add("swapped return", *extent_of(value), other, (start, end))
        self.expression(value, (start, end))

    def other_value(self, value, text):
        """What to return instead; None where there is nothing that makes sense."""
        if self.result.kind == TypeKind.POINTER:
            return None if text in ("NULL", "0") else "NULL"
        if self.result.kind == TypeKind.BOOL:
            return {"true": "false", "false": "true"}.get(text, f"!({text})")
        if self.result.kind == TypeKind.ENUM:
            constant = unwrap(value).referenced
            known = constant is not None and constant.kind == CursorKind.ENUM_CONSTANT_DECL
            return "1" if known and constant.enum_value == 0 else "0"
        if self.result.kind in INTEGERS:
            signed = self.result.kind in (TypeKind.INT, TypeKind.SHORT, TypeKind.LONG, TypeKind.LONGLONG)
            return ("-22" if signed else "1") if text == "0" else "0"
        return None

    # Expressions

    def expression(self, cursor, statement):
        start, end = extent_of(cursor)
        macro = self.macro(start, end)
        if macro in ("true", "false") and self.source[start:end].decode() == macro:
            self.add("changed constant", start, end, {"true": "false", "false": "true"}[macro], statement)
            return
        if self.hidden(start, end) or macro and SAYING.fullmatch(macro) or cursor.kind == CursorKind.CALL_EXPR and SAYING.fullmatch(cursor.spelling or ""):
            return
        if cursor.kind == CursorKind.COMPOUND_STMT:  # of a statement expression
            self.statement(cursor)
            return
        self.itself(cursor, (start, end), statement)
        for child in self.inside(cursor):
            self.expression(child, statement)

    def inside(self, cursor):
        """What of it is changed as well: not the size of an array, nor what is behind a minus or sizeof."""
        if cursor.kind == CursorKind.CXX_UNARY_EXPR or self.source.startswith(b"-", extent_of(cursor)[0]) and cursor.kind == CursorKind.UNARY_OPERATOR:
            return []
        sized = cursor.kind == CursorKind.VAR_DECL and cursor.type.kind == TypeKind.CONSTANTARRAY
        return [child for child in cursor.get_children() if not sized or child.kind != CursorKind.INTEGER_LITERAL]

    def itself(self, cursor, extent, statement):
        children = list(cursor.get_children())
        if cursor.kind == CursorKind.INTEGER_LITERAL:
            self.integer(*extent, statement)
        elif cursor.kind == CursorKind.CHARACTER_LITERAL:
            self.add("changed constant", *extent, r"'\1'", statement)
        elif cursor.kind == CursorKind.DECL_REF_EXPR:
            self.enumerator(cursor, statement)
        elif cursor.kind == CursorKind.UNARY_OPERATOR:
            self.unary(*extent, statement)
        elif cursor.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            first, last, sign = self.operator(cursor)
            if sign in OPERATORS or sign in ASSIGNING:
                self.add("changed operator", first, last, OPERATORS.get(sign) or ASSIGNING[sign], statement)
        elif cursor.kind == CursorKind.CONDITIONAL_OPERATOR and len(children) == 3:
            self.condition(children[0], statement)

    def enumerator(self, cursor, statement):
        """One of the project's own: its next becomes of it."""
        constant = cursor.referenced
        if constant is None or constant.kind != CursorKind.ENUM_CONSTANT_DECL or constant.location.file.name.startswith("/usr/"):
            return
        words = [child.spelling for child in constant.semantic_parent.get_children() if child.kind == CursorKind.ENUM_CONSTANT_DECL]
        if len(words) > 1:
            self.add("changed constant", *extent_of(cursor), words[(words.index(constant.spelling) + 1) % len(words)], statement)

    def integer(self, start, end, statement):
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", self.source[start:end].decode())
        if match:
            number = int(match[1], 16 if match[1][:2] in ("0x", "0X") else 8 if match[1].startswith("0") else 10)
            self.add("changed constant", start, end, f"{number + 1}{match[2]}", statement)

    def unary(self, start, end, statement):
        text = self.source[start:end]
        if text.startswith(b"!"):
            if not self.source.endswith(b"(void)", 0, start):
                self.add("negated condition", start, start + 1, "", statement)
        elif re.fullmatch(rb"-[0-9]+", text):
            self.add("changed constant", start, start + 1, "", statement)
        elif text.startswith((b"++", b"--")):
            self.add("changed operator", start, start + 2, "--" if text.startswith(b"++") else "++", statement)
        elif text.endswith((b"++", b"--")):
            self.add("changed operator", end - 2, end, "--" if text.endswith(b"++") else "++", statement)

    def operator(self, cursor):
        """(start, end, sign) of a binary operator."""
        children = list(cursor.get_children())
        if len(children) != 2:
            return 0, 0, ""
        start, end = children[0].extent.end.offset, children[1].extent.start.offset
        between = self.source[start:end] if start < end else b""
        bare = BLANK.sub(lambda match: b" " * len(match[0]), between)
        sign = bare.strip(b" ()")  # a parenthesis around an operand is a cursor of its own, and still
        at = start + bare.find(sign)
        return at, at + len(sign), sign.decode()

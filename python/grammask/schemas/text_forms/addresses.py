"""Addresses of networks and mail, URLs and identifiers, as regular expressions."""

from __future__ import annotations

from grammask.schemas.text_forms.integers import alternatives, at_least_zero

__all__ = [
    "EMAIL",
    "IPV4",
    "IPV4_INTERFACE",
    "IPV6",
    "IPV6_INTERFACE",
    "ipv4_network_pattern",
    "ipv6_network_pattern",
    "url_pattern",
    "uuid_pattern",
]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9A-Fa-f]{1,4}"


def _ipv6() -> str:
    parts = [f"(?:{_GROUP}:){{7}}{_GROUP}"]
    for left in range(8):
        before = f"{_GROUP}(?::{_GROUP}){{{left - 1}}}" if left else ""
        right = 7 - left
        after = f"(?:{_GROUP}(?::{_GROUP}){{0,{right - 1}}})?" if right else ""
        parts.append(f"{before}::{after}")
    # Python 3.13 writes IPv4-mapped addresses like this.
    parts.append(f"::ffff:{IPV4}")
    return alternatives(parts)


_IPV6_GROUPS = _ipv6()
_ZONE = "(?:%[0-9A-Za-z._~-]+)?"
IPV6 = _IPV6_GROUPS + _ZONE
IPV4_INTERFACE = f"{IPV4}(?:/{at_least_zero(0, 32, 2)})?"
IPV6_INTERFACE = f"{IPV6}(?:/{at_least_zero(0, 128, 3)})?"


def ipv4_network_pattern() -> str:
    """Returns the networks whose host bits are zero, unanchored."""
    parts = []
    for prefix in range(33):
        whole, bits = divmod(prefix, 8)
        octets = [_OCTET] * whole
        if bits:
            step = 1 << (8 - bits)
            octets.append(alternatives([str(value) for value in range(0, 256, step)]))
        octets += ["0"] * (4 - len(octets))
        parts.append(r"\.".join(octets) + f"/{prefix}")
    # A network without a prefix is a single address.
    parts.append(IPV4)
    return alternatives(parts)


def ipv6_network_pattern() -> str:
    """Returns the networks whose host bits are zero, unanchored; the last zeros are compressed wherever they can be."""
    parts = [f"{_IPV6_GROUPS}(?:/128)?"]
    for prefix in range(128):
        whole, bits = divmod(prefix, 16)
        partial = _multiples_of_power(16 - bits) if bits else None
        # The last groups, without the ones that `::` in the middle or at the end stands for.
        fixed = ([partial] if partial else []) + ["0{1,4}"] * (8 - whole - bool(partial))
        full = ":".join([_GROUP] * whole + fixed)
        forms = [full]
        for left in range(whole + 1):
            forms.append(":".join([_GROUP] * left) + "::")
            # `::` before a part of the last groups.
            for right in range(max(len(fixed), 1), 8 - left):
                tail = ":".join([_GROUP] * (right - len(fixed)) + fixed)
                forms.append(f"{':'.join([_GROUP] * left)}::{tail}")
        if partial:
            forms.append(":".join([*[_GROUP] * whole, partial]) + "::" if whole < 7 else full)
        parts.append(f"{alternatives(list(dict.fromkeys(forms)))}/{prefix}")
    return alternatives(parts)


def _multiples_of_power(bits: int) -> str:
    """Returns the groups of 16 bits whose last ``bits`` bits are zero."""
    digits, rest = divmod(bits, 4)
    step = 1 << rest
    last = (
        "["
        + "".join(f"{value:x}" + (f"{value:X}" if value > 9 else "") for value in range(0, 16, step))
        + "]"
    )
    zeros = "0" * digits
    free = 3 - digits
    return alternatives(["0{1,4}", f"[0-9A-Fa-f]{{0,{free}}}{last}{zeros}" if free else f"{last}{zeros}"])


def uuid_pattern(version: int | None) -> str:
    """Returns the UUIDs of a version (of any if None), unanchored."""
    digit = "[0-9A-Fa-f]"
    third, fourth = (f"{digit}{{4}}", f"{digit}{{4}}")
    if version is not None:
        third, fourth = f"{version}{digit}{{3}}", f"[89ABab]{digit}{{3}}"
    return f"{digit}{{8}}-{digit}{{4}}-{third}-{fourth}-{digit}{{12}}"


def _email() -> str:
    """Returns mail addresses in ASCII: at most 64 characters before ``@``, and at most 254 in all.

    The total length follows from the lengths of the parts of a domain, because counting both makes a large automaton:
    domains with 4 and more parts have parts of at most 37 characters, with 6 and more of at most 15.
    """
    atom = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+"
    domains = []
    for least, most, size, last in ((1, 2, 63, 61), (3, 4, 37, 37), (5, 10, 15, 15)):
        part = f"[0-9a-z](?:[0-9a-z-]{{0,{size - 2}}}[0-9a-z])?"
        # Every top-level domain ends with a letter.
        top = f"(?:[a-z]|[0-9a-z][0-9a-z-]{{0,{last - 2}}}[a-z])"
        domains.append(rf"(?:{part}\.){{{least},{most}}}{top}")
    return (
        rf"(?=[^@]{{1,64}}@){atom}(?:\.{atom})*@"
        # Names that the library email-validator takes for reserved, and encodings of other alphabets.
        r"(?!(?:.*\.)?(?:arpa|invalid|local|localhost|onion|test)$)(?!(?:.*\.)?[0-9a-z]{2}--)"
        + alternatives(domains)
    )


EMAIL = _email()

_SPECIAL = ("http", "https", "ws", "wss", "ftp")
"""Schemes whose URLs have a host (WHATWG URL standard), except for ``file``."""
_USER = r"(?:[0-9A-Za-z._~!$&'()*+,;=%-]+(?::[0-9A-Za-z._~!$&'()*+,;=%-]*)?@)?"
# The last label is no number: a host that ends in a number is read as IPv4. Encoded names (`xn--`) have a checksum.
_DOMAIN = (
    r"(?!(?:[0-9A-Za-z_-]+\.)*[Xx][Nn]--)(?:[0-9A-Za-z_-]+\.)*(?!0[Xx])(?=[0-9]*[A-Za-z_-])[0-9A-Za-z_-]+\.?"
)
_HOST = rf"(?:{IPV4}|\[{_IPV6_GROUPS}\]|{_DOMAIN})"
_OPAQUE_HOST = rf"(?:[0-9A-Za-z._~!$&'()*+,;=%-]+|\[{_IPV6_GROUPS}\])"
_PORT = f"(?::{at_least_zero(0, 65535, 5)})?"
_REST = r"(?:/[!-\x22$->@-~]*)?(?:\?[!-\x22$-~]*)?(?:#[!-~]*)?"


def url_pattern(schemes: list[str] | None, *, has_host: bool) -> str:
    """Returns URLs in ASCII, unanchored. Encoded names of hosts (``xn--``) are left out.

    Args:
        schemes: The allowed schemes; None for all.
        has_host: Whether a host is required.
    """
    parts = []
    special = [scheme for scheme in _SPECIAL if schemes is None or scheme in schemes]
    if special:
        parts.append(f"{alternatives(special)}://{_USER}{_HOST}{_PORT}{_REST}")
    if schemes is None or "file" in schemes:
        parts.append(f"file://{_HOST if has_host else _HOST + '?'}/[!-\\x22$->@-~]*")
    others = None if schemes is None else [each for each in schemes if each not in (*_SPECIAL, "file")]
    if others is None or others:
        scheme = (
            alternatives([_quoted(each) for each in others])
            if others is not None
            else f"(?!(?:{'|'.join(_SPECIAL)}|file):)[a-z][0-9a-z+.-]*"
        )
        authority = f"//{_USER}{_OPAQUE_HOST}{_PORT}{_REST}"
        parts.append(f"{scheme}:{authority}")
        if not has_host:
            parts.append(f"{scheme}:(?!//)[!-~](?:[ -~]*[!-~])?")
            parts.append(f"{scheme}:///[!-~]*")
    return alternatives(parts)


def _quoted(text: str) -> str:
    return "".join(character if character.isalnum() else f"\\x{ord(character):02x}" for character in text)

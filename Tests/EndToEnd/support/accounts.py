"""Simulated machines with other accounts and groups: some where the user's group is private, some where it is not.

A program that runs `on_machine` runs with uid 0 and group 0; the /etc/passwd and /etc/group of that machine give them
names. It has a mount namespace of its own and, for an ordinary user, a user namespace too.
"""

import grp
import os
import pwd

ANNA = "anna:x:0:0::/:/bin/sh"
BERT = "bert:x:4711:{}::/:/bin/sh"

# /etc/passwd and /etc/group of machines where the group is private, as Debian's adduser makes it.
PRIVATE = {
    "no member listed": ([ANNA], ["anna:x:0:"]),
    "the owner listed": ([ANNA], ["anna:x:0:anna"]),
    "beside other accounts": ([ANNA, BERT.format(4711)], ["anna:x:0:", "bert:x:4711:bert", "staff:x:50:bert"]),
}
# Machines where the group is shared or unknown. Without a line for them, systemd calls uid 0 and its group root.
SHARED = {
    "another member": ([ANNA, BERT.format(4711)], ["anna:x:0:bert", "bert:x:4711:"]),
    "another member beside the owner": ([ANNA, BERT.format(4711)], ["anna:x:0:anna,bert", "bert:x:4711:"]),
    "another member whose name begins alike": ([ANNA], ["anna:x:0:annabel"]),
    "another account's primary group too": ([ANNA, BERT.format(0)], ["anna:x:0:"]),
    "a group of many": ([ANNA], ["users:x:0:"]),
    "not the owner's primary group": ([ANNA.replace("0:0", "0:100")], ["anna:x:0:anna", "users:x:100:"]),
    "no such group": ([ANNA], []),
    "no such account": ([], ["anna:x:0:"]),
}


def on_machine(folder, passwd, group):
    """Return the command prefix that gives a program these accounts and groups."""
    folder.mkdir(exist_ok=True)
    mounts = ""
    for name, lines in [("passwd", passwd), ("group", group)]:
        (folder / name).write_text("".join(line + "\n" for line in lines))
        mounts += f'mount --bind "$0/{name}" /etc/{name} && '
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    return [*alone, "sh", "-c", mounts + 'exec "$@"', str(folder)]


def own_group_is_private():
    """Return whether the group of the user who runs the tests is private, by the programs' rules."""
    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(os.getegid())
    others = [one.pw_name for one in pwd.getpwall() if one.pw_gid == group.gr_gid and one.pw_uid != user.pw_uid]
    return (user.pw_gid, user.pw_name) == (group.gr_gid, group.gr_name) and not {*group.gr_mem, *others} - {user.pw_name}

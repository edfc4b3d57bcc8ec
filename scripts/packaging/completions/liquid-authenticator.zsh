#compdef liquid-authenticator
# Completions of liquid-authenticator for zsh.
_arguments \
    '--transport=[where the key appears]:transport:(broker uhid unix\: pty)' \
    '--verification=[how the key verifies you]:verification:(passphrase none)' \
    '--prompt=[where prompts appear]:prompt:(auto notifications pinentry askpass terminal)' \
    '--pinentry=[the program that shows dialogs]:program:_command_names -e' \
    '--askpass=[a program like ssh-askpass]:program:_command_names -e' \
    '--state-dir=[the directory of vault and store]:directory:_directories' \
    '--control=[the socket for liquid-auth]:socket:_files' \
    '--beside-hardware-key=[while another security key is plugged in]:choice:(stay step-aside)' \
    '--max-passkeys=[the most passkeys that sites may register]:number:' \
    '--lock-on=[lock the vault on these events]:events:(suspend screen-lock switch never)' \
    '--lock-after=[lock the vault after this many hours without use]:hours:(never)' \
    '--in-background=[while another session is in the foreground]:choice:(detach stay)' \
    '--on-success=[what to do after a registration or sign-in]:choice:(nothing notify)' \
    '--sandbox=[give up the rights that are not needed]:choice:(on off)' \
    '--log-level=[whether the log names sites]:level:(info debug)' \
    '(- *)--version[show the version]' \
    '(- *)'{-h,--help}'[show the help]'

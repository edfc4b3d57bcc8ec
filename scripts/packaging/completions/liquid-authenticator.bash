# Completions of liquid-authenticator for bash.
# shellcheck shell=bash
_liquid_authenticator() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words=''
    # bash makes a word of the = between an option and its value.
    [[ $option != '=' ]] || option=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $word != '=' ]] || word=''
    case $option in
    --transport) words='broker uhid unix: pty' ;;
    --verification) words='passphrase none' ;;
    --prompt) words='auto notifications pinentry askpass terminal' ;;
    --beside-hardware-key) words='stay step-aside' ;;
    --lock-on) words='suspend screen-lock switch never' ;;
    --lock-after) words='never' ;;
    --in-background) words='detach stay' ;;
    --on-success) words='nothing notify' ;;
    --sandbox) words='on off' ;;
    --log-level) words='info debug' ;;
    --max-passkeys) ;;
    --pinentry | --askpass) mapfile -t COMPREPLY < <(compgen -c -- "$word") && return ;;
    --state-dir) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
    --control) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
    *)
        words='--transport --verification --prompt --pinentry --askpass --state-dir --control --beside-hardware-key
            --max-passkeys --lock-on --lock-after --in-background --on-success --sandbox --log-level --version --help'
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _liquid_authenticator liquid-authenticator

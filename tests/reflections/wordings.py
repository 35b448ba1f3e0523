"""Pairs of short notes as agents write them, sorted by what they have to do with one another."""

from __future__ import annotations

from typing import Final

type Pairs = list[tuple[str, str]]

# The second says the first over again in other words.
REWORDED: Final[Pairs] = [
    ("The staging database is refreshed every night at two.", "Every night at 2 the staging database gets refreshed."),
    (
        "Deployments are frozen during the last week of a quarter.",
        "In the final week of each quarter nothing is deployed.",
    ),
    ("Use pnpm instead of npm in the frontend repository.", "The frontend repository uses pnpm rather than npm."),
    (
        "The billing service retries a failed charge three times.",
        "A charge that fails is retried three times by billing.",
    ),
    ("Log lines must carry the request id.", "Every line in the logs has to include the id of the request."),
    ("We chose PostgreSQL because of its full-text search.", "PostgreSQL was picked for its full-text search."),
    (
        "The nightly export writes CSV files to the archive bucket.",
        "CSV files are put into the archive bucket by the nightly export.",
    ),
    ("Integration tests need a running Redis.", "Redis has to be running for the integration tests."),
    ("The mobile app caches images for seven days.", "Images are kept in the cache of the mobile app for 7 days."),
    ("Customers see prices with tax included.", "Prices are shown to customers including tax."),
    (
        "Feature flags are removed after the rollout is complete.",
        "Once a rollout is complete, its feature flags are deleted.",
    ),
    ("The scheduler runs in the Frankfurt region only.", "Only the Frankfurt region runs the scheduler."),
    ("Passwords are hashed with Argon2.", "We hash passwords using Argon2."),
    ("Webhooks are signed with a shared secret.", "A shared secret is used to sign webhooks."),
    (
        "The search index is rebuilt after every schema change.",
        "After each change of the schema the search index gets rebuilt.",
    ),
    (
        "The team prefers pull requests of under 300 lines.",
        "Pull requests shorter than 300 lines are what the team prefers.",
    ),
    ("The upload endpoint accepts files up to 50 MB.", "Files of at most 50 MB can be uploaded."),
    ("Sessions expire after thirty minutes without activity.", "After half an hour of inactivity a session ends."),
    ("The parser treats tabs as four spaces.", "Tabs count as four spaces for the parser."),
    ("Release notes are written by the team lead.", "The team lead writes the release notes."),
    ("Do not edit generated files by hand.", "Generated files must never be changed manually."),
    ("The queue worker restarts when memory exceeds 512 MB.", "Above 512 MB of memory the queue worker is restarted."),
    ("Invoices are numbered without gaps.", "There are no gaps in the numbering of invoices."),
    ("The API answers errors as problem+json.", "Errors of the API come as problem+json."),
]

# One word or two turn the second into the opposite of the first, or into something that cannot hold beside it.
OPPOSITE: Final[Pairs] = [
    ("The nightly export may be stopped by hand.", "The nightly export may not be stopped by hand."),
    ("Retries are enabled for the payment client.", "Retries are disabled for the payment client."),
    ("Run the migrations before the deployment.", "Run the migrations after the deployment."),
    ("Increase the pool size when the latency grows.", "Decrease the pool size when the latency grows."),
    ("The cache is always cleared on start.", "The cache is never cleared on start."),
    ("Guests can see draft articles.", "Guests cannot see draft articles."),
    ("The flag is required in production.", "The flag is optional in production."),
    ("Use tabs for indentation in the Go code.", "Use spaces for indentation in the Go code."),
    ("The import succeeded on the second attempt.", "The import failed on the second attempt."),
    ("Logs are kept for 30 days.", "Logs are kept for 90 days."),
    ("The service listens on port 8080.", "The service listens on port 9090."),
    ("Merge pull requests with a squash commit.", "Never merge pull requests with a squash commit."),
    ("The old endpoint is still supported.", "The old endpoint is no longer supported."),
    ("All tests must pass before a merge.", "Some tests must pass before a merge."),
    ("The backup includes uploaded files.", "The backup excludes uploaded files."),
    ("Metrics are pushed to the gateway.", "Metrics are pulled from the gateway."),
    ("Only admins can delete projects.", "Everyone except admins can delete projects."),
    ("The worker should acknowledge messages early.", "The worker should acknowledge messages late."),
    ("Dark mode is on by default.", "Dark mode is off by default."),
    ("The limit applies to each user.", "The limit does not apply to each user."),
    ("Compress the responses with gzip.", "Do not compress the responses with gzip."),
    ("Dates are stored in UTC.", "Dates are stored in local time."),
    ("The upper bound is inclusive.", "The upper bound is exclusive."),
    ("The client trusts the proxy header.", "The client ignores the proxy header."),
]

# Nothing but words that add nothing, capitals and marks tell the two apart.
SAME_WORDS: Final[Pairs] = [
    ("The staging database is refreshed every night.", "the staging database is refreshed every night"),
    ("Log lines must carry the request id.", "Log lines must carry a request id."),
    ("Use pnpm in the frontend repository.", "Please use pnpm in the frontend repository"),
    ("Integration tests need a running Redis.", "Note: integration tests need a running Redis."),
    ("The scheduler runs in the Frankfurt region only.", "Scheduler runs in Frankfurt region only"),
    ("The mobile app caches images for seven days.", "Remember that the mobile app caches images for seven days!"),
    ("Passwords are hashed with Argon2.", "The passwords are hashed with Argon2"),
    ("Webhooks are signed with a shared secret.", "- Webhooks are signed with the shared secret."),
    ("Dates are stored in UTC.", "“Dates are stored in UTC.”"),
    ("Invoices are numbered without gaps.", "Invoices are numbered, without gaps."),
]

# Of one matter and true beside one another: what an agent may well find out after it was reminded of the first.
NEWS: Final[Pairs] = [
    (
        "The staging database is refreshed every night at two.",
        "The refresh of the staging database takes forty minutes.",
    ),
    ("Passwords are hashed with Argon2.", "Argon2 runs with 64 MB of memory on the login servers."),
    ("Integration tests need a running Redis.", "The Redis of the integration tests listens on port 6390."),
    ("Use pnpm instead of npm in the frontend repository.", "The lock file of pnpm is checked in the pipeline."),
    ("The billing service retries a failed charge three times.", "Billing waits a minute before it retries a charge."),
    ("Webhooks are signed with a shared secret.", "The secret of the webhooks is rotated every January."),
    ("The scheduler runs in the Frankfurt region only.", "The scheduler moved to a larger machine in Frankfurt."),
    ("The upload endpoint accepts files up to 50 MB.", "Uploads are scanned for viruses before they are stored."),
    ("Invoices are numbered without gaps.", "Invoices of 2025 begin with the number 25001."),
    ("The parser treats tabs as four spaces.", "The parser fails on files without a final newline."),
    ("Log lines must carry the request id.", "The request id comes from the load balancer."),
    (
        "The search index is rebuilt after every schema change.",
        "Rebuilding the search index locks writes for a minute.",
    ),
]

import { KUBECTL, runCommandOf } from '../../packages/kubectl/kubectl-command.ts'
import type { CliIo, Command, Commands } from './command-line.ts'
import { runCommand } from './run-command.ts'

/** `runCommand` with every command that there is. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  return await runCommand(argv, io, COMMANDS)
}

const NO_ARGUMENTS = { usage: '', options: [], leastArgs: 0, mostArgs: 0 } as const

const OBSERVE_HELP = `
Needs no configuration and no rights but to list and watch; what may not be seen is said first. Watches the current context of
the kubeconfig as kubectl does, prints each cascade as it settles, and serves the dashboard until it is ended with Ctrl-C. What was
seen is kept in --database, and gone without it. --set changes anything of the configuration that this comes to.
`

const SQL_HELP = `
One SELECT on the database, read-only, beside a running Causeway or without one; - reads it from the standard input.
docs/audit.md describes the views audit_* and answers a dozen questions. In FROM also stand

  related('<cpid>')    the CPID and every CPID that descends from it: columns cpid and place, itself first, then by time
  ancestors('<cpid>')  the CPIDs it descends from, nearest first
  roots('<cpid>')      those of its ancestors and itself that no change led to: operator actions

A table has as many characters in a line as the terminal; cells that are too long for it are cut, and whole with --wide. A query that
takes longer than --timeout is ended, so that none runs for ever unseen.

In JSON, BLOBs are hexadecimal digits and integers beyond 2^53 are strings.
`

const IMPORT_HELP = `
Reads what was recorded of a cluster, and stores what a Causeway that had been there would have stored: its clock is that of
the recording. An audit log is read as the API server writes it (audit.k8s.io/v1, an event a line); of a watch is read what
kubectl get … --watch --output-watch-events -o json prints, each line optionally with a "time". Files may be compressed with
gzip. Either source is enough; both together say more.

What is stored depends on the lines alone: they may stand in one file or in many, rotated or one for each resource, in any
order. An import that was interrupted goes on when the same files are named again. Importing the same again changes nothing.

Without --follow the recording is over where the files end: time goes on until every cascade has settled. A recording that
grows is imported with --follow: then nothing settles before the recording's own clock says so, and Ctrl-C leaves open what is
open. Name the files again to go on, with --follow or, once nothing more comes, without.

No Causeway may run on the database, which is ./data/causeway.db without --config, and none should before the import is over.
`

const DOCTOR_HELP = `
Works beside a running Causeway, before the first start, and on a stopped one. Sends every backend a request without a
span, and changes nothing. Exits 0 when nothing fails; what is only a warning may be meant that way.
`

const ARCHIVE_HELP = `
A running Causeway makes the tables by itself, unless create_schema is false: then run this with another user in the configuration,
or hand what --print prints to whoever may. Every statement may be run again. The role only reads, has a limit for each query and
each minute, and sees the rows of the clusters that are named. docs/archive.md says more.
`

const PRUNE_HELP = `
Believes the clock of this machine. A running Causeway prunes by age only once a clock that leapt has lasted an hour.
`

const SALVAGE_HELP = `
For a database that causeway doctor finds damaged; stop Causeway first. The damaged file is only read. What cannot be read
is told table by table, and what refers to it is taken out, so that Causeway can go on with the new file: put it in the
place of the damaged one, or name it in connectors::cpid::storage::path. docs/recovery.md says more.
`

const COMPLETION_HELP = `
For one shell: source <(causeway completion bash). For all: write it to ~/.local/share/bash-completion/completions/causeway.
`

/** Every command by its name, in the order of the help. What runs is loaded when it is asked for. */
export const COMMANDS: Commands = new Map<string, Command>([
  ['run', runCommandOf(async () => (await import('./configuration.ts')).server)],
  [
    'observe',
    {
      usage: '',
      summary: 'watch a cluster that nobody patched, and print each cascade as it settles',
      help: OBSERVE_HELP,
      config: 'itself',
      meanings: { namespace: 'only what is in it; several with commas between them' },
      options: ['kubeconfig', 'context', 'namespace', 'database'],
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./observe-command.ts')).runObserve,
    },
  ],
  ['kubectl', KUBECTL],
  [
    'validate',
    {
      ...NO_ARGUMENTS,
      summary: 'check the configuration',
      load: async () => (await import('./configuration.ts')).validate,
    },
  ],
  [
    'components',
    {
      ...NO_ARGUMENTS,
      summary: 'print what Causeway is made of',
      load: async () => (await import('./configuration.ts')).components,
    },
  ],
  [
    'print-config',
    {
      ...NO_ARGUMENTS,
      summary: 'print the configuration with every default written out and secrets blacked out',
      load: async () => (await import('./configuration.ts')).printConfig,
    },
  ],
  [
    'related',
    {
      usage: '<cpid>',
      summary: 'the CPID and every CPID that descends from it, by mergelog time',
      options: ['format'],
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('./database-commands.ts')).runRelated,
    },
  ],
  [
    'cascades',
    {
      usage: '',
      summary: 'cascades, newest first',
      options: ['format', 'state', 'object', 'service', 'actor', 'namespace', 'limit'],
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./database-commands.ts')).runCascades,
    },
  ],
  [
    'cascade',
    {
      usage: '<cpid>',
      summary: 'the cascades a CPID takes part in: spans as trees, critical path, time of each service',
      options: ['format', 'all'],
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('./cascade-command.ts')).runCascade,
    },
  ],
  [
    'mergelogs',
    {
      usage: '[<cpid>]',
      summary: 'all mergelogs, oldest first, or those of the CPIDs related to one',
      options: ['format', 'limit'],
      leastArgs: 0,
      mostArgs: 1,
      load: async () => (await import('./database-commands.ts')).runMergelogs,
    },
  ],
  [
    'sql',
    {
      usage: '"<select>"',
      summary: 'ask the database in SQL; it is only read',
      help: SQL_HELP,
      options: ['format', 'wide', 'timeout', 'max-rows'],
      meanings: { timeout: 'how long the query may take, at most 1h (10s)' },
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('./sql-command.ts')).runSql,
    },
  ],
  [
    'import',
    {
      usage: '',
      summary: 'store the cascades of a cluster from recordings of its audit log and of a watch',
      help: IMPORT_HELP,
      config: 'optional',
      options: ['cluster', 'audit', 'watch', 'follow', 'format'],
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./import-command.ts')).runImport,
    },
  ],
  [
    'doctor',
    {
      usage: '',
      summary: 'is everything reachable, writable and in step, and do mergelogs arrive for the CPIDs seen?',
      help: DOCTOR_HELP,
      options: ['format', 'timeout'],
      meanings: { timeout: 'how long it may take to look through the database (30s)' },
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./doctor-command.ts')).runDoctor,
    },
  ],
  [
    'migrate',
    {
      usage: '',
      summary: 'make the database, or bring its schema up to date',
      options: ['format'],
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./database-commands.ts')).runMigrate,
    },
  ],
  [
    'archive',
    {
      usage: 'init',
      summary: 'make the tables of the archives, or print what makes them and a role for auditors',
      help: ARCHIVE_HELP,
      options: ['print', 'role', 'cluster'],
      meanings: {
        cluster: 'the clusters that the role may read, with commas between them; all unless given',
      },
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('./archive-command.ts')).runArchive,
    },
  ],
  [
    'prune',
    {
      usage: '',
      summary: 'remove what retention no longer keeps, once and now',
      help: PRUNE_HELP,
      options: ['format'],
      leastArgs: 0,
      mostArgs: 0,
      load: async () => (await import('./database-commands.ts')).runPrune,
    },
  ],
  [
    'salvage',
    {
      usage: '<new file>',
      summary: 'copy what can be read of a damaged database into a new file',
      help: SALVAGE_HELP,
      options: ['format'],
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('../../packages/salvage/salvage-command.ts')).runSalvage,
    },
  ],
  [
    'completion',
    {
      usage: 'bash',
      summary: 'print what bash needs to complete commands, options and their values',
      help: COMPLETION_HELP,
      config: 'none',
      options: [],
      leastArgs: 1,
      mostArgs: 1,
      load: async () => (await import('./completion-command.ts')).runCompletion,
    },
  ],
])

import { KUBECTL, runCommandOf } from '../../packages/kubectl/kubectl-command.ts'
import type { CliIo, Command, Commands } from './command-line.ts'
import { runCommand } from './run-command.ts'

/** Runs a command line with all commands. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  return await runCommand(argv, io, COMMANDS)
}

const OBSERVE_HELP = `
Watches the current context of the kubeconfig, as kubectl does, prints each cascade as it settles, and serves the dashboard until Ctrl-C.
Needs no configuration, only the right to list and watch, and names what it may not see. Without --database, what it saw is gone when it
ends. --set changes a setting, as in: --set extensions.cpid_query.endpoint=localhost:4320. docs/kubernetes.md says more.
`

const ARCHIVED = {
  help: `
With --archive also what other Causeways wrote there and what retention removed here, as one answer. Without --config the archive is
asked alone. Where it does not answer, what the database holds is printed, and that it is only a part. docs/archive.md says more.
`,
  meanings: { timeout: 'how long the archive may take (30s)' },
}

const SQL_HELP = `
Runs one SELECT, read-only, beside a running Causeway or without one; - reads the statement from the standard input. docs/audit.md has
questions, docs/reference/audit-views.md the views audit_*. Three functions can stand in FROM:

  related('<cpid>')    the CPID and every CPID that descends from it: columns cpid and place, itself first, then by time
  ancestors('<cpid>')  the CPIDs it descends from, nearest first
  roots('<cpid>')      its ancestors without sources, itself included: operator actions

The table is as wide as the terminal; --wide prints whole cells. A query that takes longer than --timeout is ended.

In JSON, BLOBs are hexadecimal digits and integers beyond 2^53 are strings.
`

const IMPORT_HELP = `
Reads recordings of a cluster, and stores what a Causeway that watched at the time would have stored, by the clock of the recording.
Recordings are audit logs as the API server writes them (audit.k8s.io/v1, an event a line), and what kubectl get … --watch
--output-watch-events -o json prints, each line optionally with a "time". Files may be compressed with gzip. Either source is enough; both
together tell more.

The result depends on the lines alone: they may be in one file or in many, in any order. To continue an import that was interrupted,
name the same files again. Importing the same again changes nothing.

Without --follow the recording ends where the files end, and every cascade settles. With --follow, import waits for more lines until
Ctrl-C, and cascades that are open then stay open. Name the files again to continue.

Stop the Causeway that uses the database first: ./data/causeway.db without --config.
`

const DOCTOR_HELP = `
Works beside a running Causeway, before the first start, and on a stopped one. Sends every backend a request without a
span, and changes nothing. Every finding says what to do. Exits 0 when nothing fails; a warning may be intended.
`

const ARCHIVE_HELP = `
A running Causeway makes the tables itself, unless create_schema is false. Then run this with a user that may make tables in the
configuration, or give the output of --print to whoever may. Statements may be run again. The role only reads, has a limit for each query
and each minute, and sees the rows of the named clusters. docs/archive.md says more.
`

const PRUNE_HELP = `
Takes the clock of this machine for right: look at it first. A running Causeway prunes by itself, and after a leap of the clock waits an
hour before it prunes by age.
`

const SALVAGE_HELP = `
For a database that causeway doctor finds damaged; stop Causeway first. The damaged file is only read. Salvage says table by table what
is lost, and leaves out what refers to it. Then put the new file in the place of the damaged one, or name it in
connectors::cpid::storage::path. docs/recovery.md says more.
`

const COMPLETION_HELP = `
For one bash: source <(causeway completion bash). For all: write it to ~/.local/share/bash-completion/completions/causeway.
For one zsh: source <(causeway completion zsh). For all: put that line into ~/.zshrc.
`

/** All commands by name, in the order of the help. A command's code is loaded when it runs. */
export const COMMANDS: Commands = new Map(
  Object.entries<Command>({
    run: runCommandOf(async () => (await import('./configuration.ts')).server),
    observe: {
      summary: 'watch a cluster that nobody patched, and print each cascade as it settles',
      help: OBSERVE_HELP,
      config: 'itself',
      meanings: { namespace: 'only what is in it; several with commas between them' },
      options: ['kubeconfig', 'context', 'namespace', 'database'],
      load: async () => (await import('./observe-command.ts')).runObserve,
    },
    kubectl: KUBECTL,
    validate: {
      options: [],
      summary: 'check the configuration',
      load: async () => (await import('./configuration.ts')).validate,
    },
    components: {
      options: [],
      summary: 'print the receivers, exporters, extensions and connectors of this build',
      load: async () => (await import('./configuration.ts')).components,
    },
    'print-config': {
      options: [],
      summary: 'print the configuration with every default, and with secrets blacked out',
      load: async () => (await import('./configuration.ts')).printConfig,
    },
    related: {
      usage: '<cpid>',
      summary: 'list the CPID and every CPID that descends from it, by mergelog time',
      ...ARCHIVED,
      options: ['format', 'archive', 'timeout'],
      leastArgs: 1,
      load: async () => (await import('./database-commands.ts')).runRelated,
    },
    cascades: {
      summary: 'list cascades, newest first',
      ...ARCHIVED,
      options: [
        ...['format', 'state', 'cause', 'object', 'service', 'cluster', 'actor', 'namespace'],
        ...['since', 'until', 'limit', 'archive', 'timeout'],
      ] as const,
      meanings: {
        cluster: 'only cascades that began in the cluster of this k8s.cluster.name',
        namespace: 'only cascades that wrote into the namespace, or began in it',
        limit: 'how many to list at most (100)',
        ...ARCHIVED.meanings,
      },
      load: async () => (await import('./database-commands.ts')).runCascades,
    },
    cascade: {
      usage: '<cpid>',
      summary: 'show the cascades of a CPID: spans as trees, critical path, time of each service',
      ...ARCHIVED,
      options: ['format', 'all', 'archive', 'timeout'],
      leastArgs: 1,
      load: async () => (await import('./cascade-command.ts')).runCascade,
    },
    mergelogs: {
      usage: '[<cpid>]',
      summary: 'list all mergelogs, oldest first, or those of the CPIDs that descend from one',
      ...ARCHIVED,
      options: ['format', 'limit', 'archive', 'timeout'],
      meanings: { limit: 'how many to list at most (default: all)', ...ARCHIVED.meanings },
      mostArgs: 1,
      load: async () => (await import('./database-commands.ts')).runMergelogs,
    },
    sql: {
      usage: '"<select>"',
      summary: 'ask the database in SQL, read-only',
      help: SQL_HELP,
      options: ['format', 'wide', 'timeout', 'max-rows'],
      meanings: { timeout: 'how long the query may take, at most 1h (10s)' },
      leastArgs: 1,
      load: async () => (await import('./sql-command.ts')).runSql,
    },
    import: {
      summary: 'store the cascades of a cluster from recorded audit logs and watches',
      help: IMPORT_HELP,
      config: 'optional',
      options: ['cluster', 'audit', 'watch', 'follow', 'format'],
      load: async () => (await import('./import-command.ts')).runImport,
    },
    doctor: {
      summary: 'check that everything is reachable and writable, and that mergelogs arrive',
      help: DOCTOR_HELP,
      options: ['format', 'timeout'],
      meanings: { timeout: 'how long it may take to look through the database (30s)' },
      load: async () => (await import('./doctor-command.ts')).runDoctor,
    },
    migrate: {
      summary: 'create the database, or bring its schema up to date',
      options: ['format'],
      load: async () => (await import('./database-commands.ts')).runMigrate,
    },
    archive: {
      usage: 'init',
      summary: 'create the tables of the archives, or print the statements and a role for auditors',
      help: ARCHIVE_HELP,
      options: ['print', 'role', 'cluster'],
      meanings: {
        cluster: 'the clusters that the role may read, with commas between them; all unless given',
      },
      leastArgs: 1,
      load: async () => (await import('./archive-command.ts')).runArchive,
    },
    prune: {
      summary: 'remove now what retention no longer keeps',
      help: PRUNE_HELP,
      options: ['format'],
      load: async () => (await import('./database-commands.ts')).runPrune,
    },
    salvage: {
      usage: '<new file>',
      summary: 'copy what is readable in a damaged database into a new file',
      help: SALVAGE_HELP,
      options: ['format'],
      leastArgs: 1,
      load: async () => (await import('../../packages/salvage/salvage-command.ts')).runSalvage,
    },
    completion: {
      usage: 'bash|zsh',
      summary: 'print the completion script for bash or zsh',
      help: COMPLETION_HELP,
      config: 'none',
      options: [],
      leastArgs: 1,
      load: async () => (await import('./completion-command.ts')).runCompletion,
    },
  }),
)

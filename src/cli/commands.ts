import { KUBECTL, runCommandOf } from '../../packages/kubectl/kubectl-command.ts'
import type { CliIo, Command, Commands } from './command-line.ts'
import { runCommand } from './run-command.ts'

/** Runs a command line with all commands. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  return await runCommand(argv, io, COMMANDS)
}

const OBSERVE_HELP = `
Watches the cluster of the current context in the kubeconfig, as kubectl does. It prints each cascade when it settles, and serves the
dashboard until Ctrl-C. It needs no configuration, only the right to list and watch, and names the resources that it may not watch. Without
--database it deletes what it observed when it ends. --set changes a setting, as in --set extensions.cpid_query.endpoint=localhost:4320.
docs/kubernetes.md says more.
`

const ARCHIVED = {
  help: `
With --archive the answer also has what other Causeways wrote to the archive, and what retention has pruned here. Without --config only the
archive is asked. If the archive does not answer, the command prints what the database has, and says that this is only a part.
docs/archive.md says more.
`,
  meanings: { timeout: 'how long the archive may take to answer (default: 30s)' },
}

const SQL_HELP = `
Runs one SELECT, read-only. Causeway may run meanwhile, but need not. With - the statement is read from the standard input. docs/audit.md
has examples, and docs/reference/audit-views.md lists the views audit_*. Three functions can be used in FROM. Their columns are cpid and
place; roots also has drives:

  related('<cpid>')    the CPID, then every CPID that descends from it, by time
  ancestors('<cpid>')  the CPIDs that it descends from, nearest first
  roots('<cpid>')      its ancestors without sources, which are changes that somebody began; a root is its own root

The table is as wide as the terminal; --wide prints whole cells. A query that takes longer than --timeout is stopped.

In JSON, BLOBs are hexadecimal digits, and integers beyond 2^53 are strings.
`

const IMPORT_HELP = `
Reads recordings of a cluster, and stores what Causeway would have stored if it had watched at the time. Times are those of the recording.
A recording is an audit log as the API server writes it (audit.k8s.io/v1, one event in each line), or the output of kubectl get … --watch
--output-watch-events -o json, in which each line may have a "time". Files may be compressed with gzip. One kind of recording is enough, but
both together show more.

The result depends only on the lines. They may be in one file or in many, in any order. To continue an import that was interrupted, name the
same files again. Importing the same lines again changes nothing.

Without --follow the recording ends where the files end, and every cascade settles. With --follow, the import waits for more lines until
Ctrl-C, and cascades that are open then stay open. To continue, name the files again.

First stop the Causeway that uses the database. Without --config the database is ./data/causeway.db.
`

const DOCTOR_HELP = `
Can run while Causeway runs, before its first start, and after it was stopped. It sends each backend a request without spans, and changes
nothing. Each finding says what to do. The exit code is 0 if no check fails, even if there are warnings.
`

const ARCHIVE_HELP = `
Causeway creates the tables itself when it runs, unless create_schema is false. In that case, run this command with a configuration whose
user may create tables, or give the output of --print to somebody who may. The statements may be run again. The role can only read. It has
limits for each query and each minute, and sees only the rows of the clusters in --cluster. docs/archive.md says more.
`

const PRUNE_HELP = `
It trusts the clock of this machine, so check the clock first. Causeway also prunes by itself while it runs. After the clock has leapt, it
waits an hour before it prunes by age.
`

const SALVAGE_HELP = `
Use it for a database that causeway doctor finds damaged, and stop Causeway first. It only reads the damaged file. It reports for each table
what is lost, and leaves out rows that refer to lost ones. Afterwards, put the new file in the place of the damaged one, or write its path
into connectors::cpid::storage::path. docs/recovery.md says more.
`

const COMPLETION_HELP = `
In bash, for this shell: source <(causeway completion bash). For every shell, write the script to
~/.local/share/bash-completion/completions/causeway.
In zsh, for this shell: source <(causeway completion zsh). For every shell, add that line to ~/.zshrc.
`

/** All commands by name, in the order of the help. A command's code is loaded when it runs. */
export const COMMANDS: Commands = new Map(
  Object.entries<Command>({
    run: runCommandOf(async () => (await import('./configuration.ts')).server),
    observe: {
      summary: 'watch a cluster and print each cascade when it settles',
      help: OBSERVE_HELP,
      config: 'itself',
      meanings: { namespace: 'watch only this namespace. Write several with commas between them' },
      options: ['kubeconfig', 'context', 'namespace', 'database'],
      load: async () => (await import('./observe-command.ts')).runObserve,
    },
    kubectl: KUBECTL,
    validate: {
      options: [],
      summary: 'check the configuration and print its mistakes',
      load: async () => (await import('./configuration.ts')).validate,
    },
    components: {
      options: [],
      summary: 'print the receivers, exporters, extensions and connectors of this build',
      load: async () => (await import('./configuration.ts')).components,
    },
    'print-config': {
      options: [],
      summary: 'print the configuration with every default, without secrets',
      load: async () => (await import('./configuration.ts')).printConfig,
    },
    related: {
      usage: '<cpid>',
      summary: 'list a CPID and every CPID that descends from it, by the time of their mergelogs',
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
        cluster: 'list only cascades that began in the cluster with this k8s.cluster.name',
        namespace: 'list only cascades that wrote into this namespace or began in it',
        limit: 'the largest number of cascades to list (default: 100)',
        ...ARCHIVED.meanings,
      },
      load: async () => (await import('./database-commands.ts')).runCascades,
    },
    cascade: {
      usage: '<cpid>',
      summary:
        'show the cascades of a CPID: their spans as trees, their critical paths and the time of each service',
      ...ARCHIVED,
      options: ['format', 'all', 'archive', 'timeout'],
      leastArgs: 1,
      load: async () => (await import('./cascade-command.ts')).runCascade,
    },
    mergelogs: {
      usage: '[<cpid>]',
      summary: 'list all mergelogs, oldest first, or those of one CPID and its descendants',
      ...ARCHIVED,
      options: ['format', 'limit', 'archive', 'timeout'],
      meanings: { limit: 'the largest number of mergelogs to list (default: all)', ...ARCHIVED.meanings },
      mostArgs: 1,
      load: async () => (await import('./database-commands.ts')).runMergelogs,
    },
    sql: {
      usage: '"<select>"',
      summary: 'run one read-only SQL query on the database',
      help: SQL_HELP,
      options: ['format', 'wide', 'timeout', 'max-rows'],
      meanings: { timeout: 'how long the query may take, up to 1h (default: 10s)' },
      leastArgs: 1,
      load: async () => (await import('./sql-command.ts')).runSql,
    },
    import: {
      summary: 'read recorded audit logs and watches of a cluster, and store its cascades',
      help: IMPORT_HELP,
      config: 'optional',
      options: ['cluster', 'audit', 'watch', 'follow', 'format'],
      load: async () => (await import('./import-command.ts')).runImport,
    },
    doctor: {
      summary: 'check that everything is reachable and writable, and that mergelogs arrive',
      help: DOCTOR_HELP,
      options: ['format', 'timeout'],
      meanings: { timeout: 'how long the check of the database may take (default: 30s)' },
      load: async () => (await import('./doctor-command.ts')).runDoctor,
    },
    migrate: {
      summary: 'create the database, or bring its schema up to date',
      options: ['format'],
      load: async () => (await import('./database-commands.ts')).runMigrate,
    },
    archive: {
      usage: 'init',
      summary:
        'create the tables of the archives, or print the statements for them and for a role for auditors',
      help: ARCHIVE_HELP,
      options: ['print', 'role', 'cluster'],
      meanings: {
        cluster: 'the clusters that the role may read, with commas between them (default: all)',
      },
      leastArgs: 1,
      load: async () => (await import('./archive-command.ts')).runArchive,
    },
    prune: {
      summary: 'prune now what is beyond the limits of retention',
      help: PRUNE_HELP,
      options: ['format'],
      load: async () => (await import('./database-commands.ts')).runPrune,
    },
    salvage: {
      usage: '<new file>',
      summary: 'copy what can be read of a damaged database into a new file',
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

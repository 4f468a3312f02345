import { COMPONENTS } from '../app/components.ts'
import type { ExporterConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/component-type.ts'
import type { ArchiveModule } from '../exporter/exporter-type.ts'
import { systemClock } from '../platform/system-clock.ts'
import { CliError, type Run, UsageError } from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { readManifest } from './run-command.ts'

const ROLE = 'causeway_auditor'

interface Found {
  readonly config: ExporterConfig
  readonly module: ArchiveModule<unknown>
}

/** Creates the tables of all configured archives, or prints the SQL for them and for a read-only role. */
export const runArchive: Run = async (line, io) => {
  if (line.args[0] !== 'init') throw new UsageError('write causeway archive init')
  const { role = ROLE, cluster, print } = line
  if (print !== true && (line.role ?? cluster) !== undefined)
    throw new UsageError('write --print beside --role and --cluster: roles are printed, not made')
  if (!/^\w+$/.test(role))
    throw new UsageError(`--role must be of letters, digits and underscores, got ${role}`)
  const clusters = cluster === undefined ? [] : cluster.split(',').map((name) => name.trim())
  const { exporters } = loadCommandConfig(line, io).config
  const archives: Found[] = []
  for (const config of exporters) {
    const module = await typeNamed((io.components ?? COMPONENTS).exporters, config.type)?.archive?.load()
    if (module !== undefined) archives.push({ config, module })
  }
  if (archives.length === 0)
    throw new CliError(
      'no pipeline of the configuration sends to an archive; name one in traces/out (docs/archive.md)',
    )
  for (const { config, module } of archives) {
    if (print === true) {
      const statements = module.setupStatements(config.settings, { role, clusters })
      io.stdout.write(
        `-- exporters::${config.id}\n${statements.map((statement) => `${statement};\n`).join('\n')}`,
      )
      continue
    }
    const host = {
      ...{ clock: systemClock, userAgent: `Causeway/${readManifest().version}` },
      ...{ writeLine: () => undefined, onTrouble: () => undefined },
    }
    const done = await module.makeTables(config.settings, host)
    const said = done.length === 0 ? 'is up to date' : `has now: ${done.join(', ')}`
    io.stdout.write(`${config.id} ${said}\n`)
  }
  return 0
}

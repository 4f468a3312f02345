// Measures Causeway beside programs that people already run: npm run bench:peers.
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { optionsGiven, reasonOf } from '../../harness/command-options.ts'
import { installPeers } from '../../peers/install-peers.ts'
import type { PeerName } from '../../peers/peer-versions.ts'
import { PeerInstallError } from '../../peers/run-go.ts'
import { describeMachine } from '../measure/machine.ts'
import { machineText, sectionText, table } from '../measure/report.ts'
import { loadTable } from './load-table.ts'
import { LOAD } from './loads.ts'
import { measureRun } from './measure-run.ts'
import { readPeersOptions, USAGE, type PeersOptions } from './options.ts'
import type { LoadResult, PeersData } from './peers-data.ts'
import { OWN_PROGRAMS } from './programs.ts'
import { ratiosOf } from './ratios.ts'
import type { Installed } from './start-program.ts'

async function benchPeers(options: PeersOptions): Promise<void> {
  const installed = await install(options)
  const startedMs = performance.now()
  const machine = describeMachine(options.directory)
  console.log(`${machineText(machine)}\n`)
  const loads = options.loads.map((load): LoadResult => ({
    load,
    programs: options.programs.map((program) => ({ program, rounds: [] })),
  }))
  for (let round = 0; round < options.rounds; round++) {
    for (const { load, programs } of loads) {
      process.stderr.write(`round ${round + 1}, ${LOAD[load].label} `)
      for (const { program, rounds } of programs) {
        rounds.push(await measureRun(program, load, options, installed))
        process.stderr.write('.')
      }
      process.stderr.write('\n')
    }
  }
  const data: PeersData = { loads, ratios: ratiosOf(loads, options.rounds) }
  for (const result of loads) {
    const rows = loadTable(result)
    console.log(`${LOAD[result.load].label}\n${table(rows, rows[0]?.length)}\n`)
  }
  console.log(`${sectionText(data.ratios)}\n`)
  mkdirSync(dirname(options.json), { recursive: true })
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  const result = { takenAt: new Date().toISOString(), seconds, machine, options, peers: data }
  writeFileSync(options.json, `${JSON.stringify(result, undefined, 2)}\n`)
  console.log(`Every run's figures, taken in ${seconds} s: ${options.json}`)
}

/** Builds what is asked for and not in the cache. Throws PeerInstallError that says what is missing. */
async function install({ programs }: PeersOptions): Promise<Installed> {
  const needed = new Set<PeerName>()
  for (const program of programs) {
    if (!OWN_PROGRAMS.includes(program)) needed.add(program === 'jaeger' ? 'jaeger' : 'collector')
  }
  return installPeers([...needed])
}

const options = optionsGiven(USAGE, (args) =>
  readPeersOptions(args, {
    directory: tmpdir(),
    causeway: fileURLToPath(new URL('../../../bin/causeway.js', import.meta.url)),
    json: fileURLToPath(new URL('../../../bench/results/peers.json', import.meta.url)),
  }),
)
if (options !== undefined) {
  try {
    await benchPeers(options)
  } catch (error) {
    process.exitCode = 1
    if (error instanceof PeerInstallError)
      console.error(`${error.message}\nOr measure Causeway alone: npm run bench:peers -- --without-peers`)
    else console.error(`\nThe bench failed: ${reasonOf(error)}`)
  }
}

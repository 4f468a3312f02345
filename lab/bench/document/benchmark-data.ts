import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SectionResult } from '../measure/figures.ts'
import type { Machine } from '../measure/machine.ts'
import { SECTIONS } from '../options.ts'
import type { PeersData } from '../peers/peers-data.ts'

/** One measurement as it is kept in docs/reports/benchmarks. */
export interface Kept {
  takenAt: string
  machine: Machine
  /** How it was asked for, without folders. */
  settings: Record<string, unknown>
}

export type KeptSection = Kept & { section: SectionResult }
export type KeptPeers = Kept & { seconds: number; peers: PeersData }

export interface BenchmarkData {
  /** In the order in which the bench runs them; sections it does not know come last, by name. */
  sections: KeptSection[]
  peers: KeptPeers | undefined
}

/** What a run of the bench leaves behind; what it does not have was not measured. */
export interface RunResult {
  takenAt: string
  machine: Machine
  options: Record<string, unknown>
  sections?: SectionResult[]
  seconds?: number
  peers?: PeersData
}

const PEERS = 'peers.json'
/** These name folders of the machine. */
const FOLDERS = ['directory', 'causeway', 'json', 'nodeOptions']

/** Reads what is kept in a folder of documents. */
export function readBenchmarks(reports: string): BenchmarkData {
  const folder = join(reports, 'benchmarks')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const sections = names.filter((name) => name !== PEERS).map((name) => read(name) as KeptSection)
  return {
    sections: sections.sort((a, b) => placeOf(a) - placeOf(b) || (a.section.name < b.section.name ? -1 : 1)),
    peers: names.includes(PEERS) ? (read(PEERS) as KeptPeers) : undefined,
  }
}

/** What is kept of a run, by the path of its file. A section kept before is replaced by the same section. */
export function filesOfRun(reports: string, result: RunResult): Map<string, KeptSection | KeptPeers> {
  const { takenAt, machine, options, sections = [], seconds = 0, peers } = result
  const settings = Object.fromEntries(Object.entries(options).filter(([key]) => !FOLDERS.includes(key)))
  const files = new Map<string, KeptSection | KeptPeers>()
  const add = (name: string, kept: KeptSection | KeptPeers) =>
    files.set(join(reports, 'benchmarks', name), kept)
  for (const { name, about, figures, rounds, curves } of sections) {
    const section = { name, about, figures, rounds, ...(curves !== undefined && { curves }) }
    add(`${name}.json`, { takenAt, machine, settings, section })
  }
  if (peers !== undefined) add(PEERS, { takenAt, seconds, machine, settings, peers })
  return files
}

function placeOf({ section }: KeptSection): number {
  const place = (SECTIONS as readonly string[]).indexOf(section.name)
  return place < 0 ? SECTIONS.length : place
}

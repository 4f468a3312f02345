import { table } from '../../charts/markdown.ts'
import { PEERS, type Peer } from './peers.ts'

const ROWS: readonly [string, keyof Peer][] = [
  ['what is told apart', 'unit'],
  ['how a cause is known', 'causeFrom'],
  ['when changes meet', 'whenChangesMeet'],
  ['beyond owner references', 'reachesBeyondOwners'],
  ['needs', 'needs'],
  ['gives', 'output'],
  ['source', 'sources'],
]

/** What else there is. */
export function peersSection(): string {
  return `## Beside other tools

Only what their own documentation states; – where we found no statement. None of them was run for this.

${table([['', ...PEERS.map(({ name }) => name)], ...ROWS.map(([name, key]) => [name, ...PEERS.map((peer) => peer[key])])])}`
}

import { deserialize, serialize } from 'node:v8'
import type { WaitingOfCluster } from '../../inference/line/cluster-inference.ts'
import type { LineKey, SetOfLines } from '../../sqlite/importing/ordered-lines.ts'

/** Where an import of a cluster stands; all that it stored by then is stored together with it. */
export interface ImportPlace {
  /** The last line that was told. */
  readonly last: LineKey
  /** The lines up to it. */
  readonly told: SetOfLines
  /** The clock of the recording, Unix milliseconds. */
  readonly clockMs: number
  /** What was told and not decided; undefined once the recording is over, and everything settled. */
  readonly waiting: WaitingOfCluster | undefined
}

/** By what the place of the imports of a cluster is found, among the streams of its receivers. */
export const IMPORT_STREAM = 'import'

interface Written {
  last: { atNs: string; version: string; hash: string }
  lines: number
  digest: string
  clockMs: number
  /** Base64 of V8's own format: it keeps what is one object one object. */
  waiting?: string
}

export function writePlace({ last, told, clockMs, waiting }: ImportPlace): string {
  const written: Written = {
    last: { atNs: `${last.atNs}`, version: `${last.version}`, hash: last.hash.toString('hex') },
    ...{ lines: told.lines, digest: told.digest.toString(16), clockMs },
    ...(waiting && { waiting: serialize(waiting).toString('base64') }),
  }
  return JSON.stringify(written)
}

export function readPlace(text: string): ImportPlace {
  const { last, lines, digest, clockMs, waiting } = JSON.parse(text) as Written
  return {
    last: {
      ...{ atNs: BigInt(last.atNs), version: BigInt(last.version) },
      hash: Buffer.from(last.hash, 'hex'),
    },
    told: { lines, digest: BigInt(`0x${digest}`) },
    clockMs,
    waiting:
      waiting === undefined ? undefined : (deserialize(Buffer.from(waiting, 'base64')) as WaitingOfCluster),
  }
}

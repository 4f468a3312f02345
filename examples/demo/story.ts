import { setTimeout as sleep } from 'node:timers/promises'
import { Cast, MEMBERS, type Member } from './cast.ts'
import { Cluster } from './cluster.ts'
import { InOrder } from './in-order.ts'
import type { Report } from './report.ts'

/** The CPIDs of the story: a Deployment is created, then a Service, and both changes meet in the Endpoints. */
export interface Story {
  alpha: string
  beta: string
  gamma: string
}

export interface Telling {
  /** `host:port` of the OTLP/gRPC receiver. */
  otlp: string
  /** Settles when the receiver does take spans; the processes start meanwhile. */
  receiver?: Promise<unknown>
  say: (text: string) => void
  /** Takes what keeps the story from arriving whole. */
  complain: (text: string) => void
  stop: AbortSignal
}

type Letter = 'α' | 'β' | 'γ'
type Wrote = Extract<Report, { kind: 'wrote' }>

const LONGEST_STORY_MS = 180_000
const MEMBER_WIDTH = 24
const DEED_WIDTH = 60

/**
 * Has the processes act out the story until nothing is left to do, and ends them. Rejects when one fails or the story
 * takes too long.
 */
export async function tellStory({ otlp, receiver, say, complain, stop }: Telling): Promise<Story> {
  const cpids = new Map<Letter, string>()
  const waiting = new Set<Member>(MEMBERS)
  const ready = Promise.withResolvers<undefined>()
  let statusUpdates = 0

  await using cluster = await Cluster.start()
  const writes = new InOrder<{ member: Member; wrote: Wrote }>(cluster.version, ({ member, wrote }) => {
    const letter = letterOf(wrote, cpids)
    cpids.set(letter, wrote.cpid)
    if (isMinor(member, wrote)) statusUpdates++
    else say(describe(member, wrote, letter))
  })
  const onReport = (member: Member, report: Report) => {
    if (report.kind === 'wrote') writes.add(Number(report.resourceVersion), { member, wrote: report })
    else if (waiting.delete(member) && waiting.size === 0) ready.resolve(undefined)
  }
  await using cast = new Cast({
    apiServer: cluster.url,
    otlp,
    onReport,
    onComplaint: (member, line) => {
      if (!stop.aborted) complain(`${member}: ${line}`)
    },
  })
  const tooLong = cutShort(stop)
  for (const member of MEMBERS) cast.enter(member)
  await Promise.race([Promise.all([ready.promise, receiver]), cast.failed, tooLong])
  cast.cue('kubectl', 'begin')
  await Promise.race([cluster.untilSettled(stop), cast.failed, tooLong])
  // The last reports come while the processes end.
  await cast.end()
  writes.flush()
  say(`and ${statusUpdates} updates of the status of the Deployment and its ReplicaSet`)
  return { alpha: known(cpids, 'α'), beta: known(cpids, 'β'), gamma: known(cpids, 'γ') }
}

/** The first root to begin is α, the second β; γ is where they merge. */
function letterOf(report: Wrote, cpids: Map<Letter, string>): Letter {
  const known = [...cpids].find(([, cpid]) => cpid === report.cpid)
  if (known !== undefined) return known[0]
  if (report.origin === 'merges') return 'γ'
  return cpids.has('α') ? 'β' : 'α'
}

/** Whether all that was written is how many Pods there are: the story is clearer without. */
function isMinor(member: Member, { did }: Wrote): boolean {
  return did === 'updated the status of' && member !== 'kubelet'
}

function describe(member: Member, { did, object, origin }: Wrote, letter: Letter): string {
  const deed = `${did} ${object}`
  const origins = { begins: `${letter} begins`, merges: `${letter} = {α, β}`, inherits: letter }
  return `${member.padEnd(MEMBER_WIDTH)}${deed.padEnd(DEED_WIDTH)}${origins[origin]}`
}

function known(cpids: Map<Letter, string>, letter: Letter): string {
  const cpid = cpids.get(letter)
  if (cpid === undefined) throw new Error(`Nothing was written for ${letter}; run the demo again`)
  return cpid
}

async function cutShort(stop: AbortSignal): Promise<never> {
  await sleep(LONGEST_STORY_MS, undefined, { signal: stop, ref: false })
  throw new Error(`The story was not over within ${LONGEST_STORY_MS / 1000} s; run the demo again`)
}

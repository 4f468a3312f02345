import { setTimeout as sleep } from 'node:timers/promises'
import { startApiServer } from './api-server.ts'
import { Cast, CONTROLLERS, type Member } from './cast.ts'
import type { Report } from './report.ts'

/** The CPIDs of the story: a Deployment is applied, then a Service, and both changes meet in the Endpoints. */
export interface Story {
  alpha: string
  beta: string
  gamma: string
}

export interface Telling {
  /** `host:port` of the OTLP/gRPC receiver. */
  otlp: string
  say: (text: string) => void
  /** Takes what keeps the story from arriving whole. */
  complain: (text: string) => void
  stop: AbortSignal
}

type Letter = 'α' | 'β' | 'γ'

const LONGEST_STORY_MS = 30_000
const MEMBER_WIDTH = 24
const DEED_WIDTH = 52

/** Has the processes act out the story, and ends them. Rejects when one fails or the story takes too long. */
export async function tellStory({ otlp, say, complain, stop }: Telling): Promise<Story> {
  const cpids = new Map<Letter, string>()
  const waiting = new Set<Member>(CONTROLLERS)
  const ready = Promise.withResolvers<undefined>()
  const told = Promise.withResolvers<Story>()

  const onReport = (member: Member, report: Report) => {
    if (report.kind === 'ready') {
      waiting.delete(member)
      if (waiting.size === 0) ready.resolve(undefined)
      return
    }
    const letter = letterOf(report, cpids)
    cpids.set(letter, report.cpid)
    const deed = `${report.did} ${report.object}`
    say(`${member.padEnd(MEMBER_WIDTH)}${deed.padEnd(DEED_WIDTH)}${originOf(report, letter)}`)
    const [alpha, beta, gamma] = [cpids.get('α'), cpids.get('β'), cpids.get('γ')]
    if (alpha !== undefined && beta !== undefined && gamma !== undefined) told.resolve({ alpha, beta, gamma })
  }

  await using apiServer = await startApiServer()
  await using cast = new Cast({
    apiServer: apiServer.url,
    otlp,
    onReport,
    onComplaint: (member, line) => {
      if (!stop.aborted) complain(`${member}: ${line}`)
    },
  })
  const cut = cutShort(stop)
  for (const controller of CONTROLLERS) cast.enter(controller)
  await Promise.race([ready.promise, cast.failed, cut])
  cast.enter('kubectl')
  return await Promise.race([told.promise, cast.failed, cut])
}

/** The first root to begin is α, the second β; γ is where they merge. */
function letterOf(report: Extract<Report, { kind: 'wrote' }>, cpids: Map<Letter, string>): Letter {
  const known = [...cpids].find(([, cpid]) => cpid === report.cpid)
  if (known !== undefined) return known[0]
  if (report.origin === 'merges') return 'γ'
  return cpids.has('α') ? 'β' : 'α'
}

function originOf({ origin }: Extract<Report, { kind: 'wrote' }>, letter: Letter): string {
  if (origin === 'begins') return `${letter} begins`
  return origin === 'merges' ? `${letter} = {α, β}` : letter
}

async function cutShort(stop: AbortSignal): Promise<never> {
  await sleep(LONGEST_STORY_MS, undefined, { signal: stop, ref: false })
  throw new Error(`The story was not over within ${LONGEST_STORY_MS / 1000} s; run the demo again`)
}

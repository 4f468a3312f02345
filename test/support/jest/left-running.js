import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'

/** Longer than a connection or a program takes to end on a busy machine. */
const LONGEST_MS = 10_000
const LOOK_EVERY_MS = 20
/** A server listens a turn after it is told to, and a connection is taken some turns after it is made. */
const TURNS = 10

/** What keeps this process running, and how many of each kind. */
export function running() {
  // A process has a pipe for each of these from when it is first looked at, as prettier looks at all, and keeps it.
  void [process.stdin, process.stdout, process.stderr]
  const counts = new Map()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Waits until no more runs than before; throws if something still does after a while. */
export async function expectNothingMore(before, longestMs = LONGEST_MS) {
  for (let at = 0; at < TURNS; at++) await turn()
  const untilMs = performance.now() + longestMs
  for (let more = moreThan(before); more.length > 0; more = moreThan(before)) {
    if (performance.now() > untilMs) {
      throw new Error(
        `these tests left something running in their process: ${more.join(', ')}. End it in the test that began it: ` +
          'close the server, destroy the socket, clear the timer, and wait for it (await using)',
      )
    }
    await wait(LOOK_EVERY_MS)
  }
}

function moreThan(before) {
  return [...running()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0)
    return more > 0 ? [`${kind} (${more})`] : []
  })
}

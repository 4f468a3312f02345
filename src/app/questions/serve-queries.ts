import { createHash } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import { errorText } from '../../model/error-text.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import { answer } from '../../query/answer.ts'
import type { FromQuery, ToQuery } from '../../threads/query-messages.ts'

/** Chunks of an answer that may be under way unread. */
const MAX_UNREAD = 4
const CHUNK_LENGTH = 64 * 1024
/** How long one answer may hold up the others. */
const SLICE_MS = 10

interface Stream {
  readonly id: number
  readonly pieces: Iterator<string>
  /** What its etag is made of if it is longer than one chunk; the text itself, if not. */
  readonly version: string
  readonly known: readonly string[]
  /** What was made of the next chunk. */
  text: string
  isAnnounced: boolean
  unread: number
}

export interface QueryServing {
  queries: CausewayQueries
  salt: string
  /** Changes whenever something was written. */
  dataVersion: () => string
  onStop: () => void
  /** Says why a question failed. */
  reasonOf?: (error: unknown) => string
}

/**
 * Answers the questions that come through a port, taking turns: a long answer stops no short one, and one whose reader
 * is slow waits without holding on to the database.
 */
export function serveQueries(port: MessagePort, serving: QueryServing): void {
  const { queries, salt, dataVersion, onStop, reasonOf = errorText } = serving
  const streams = new Map<number, Stream>()
  let isTurning = false
  const post = (message: FromQuery): void => port.postMessage(message)

  const turnSoon = (): void => {
    if (isTurning) return
    isTurning = true
    setImmediate(() => {
      isTurning = false
      turn()
    })
  }

  const turn = (): void => {
    const untilMs = performance.now() + SLICE_MS
    for (const stream of [...streams.values()]) {
      if (stream.unread >= MAX_UNREAD) continue
      guarded(stream.id, () => advance(stream))
      // Whoever had a turn goes to the back, so that new questions come in between and nobody is passed over.
      if (streams.delete(stream.id)) streams.set(stream.id, stream)
      if (performance.now() > untilMs) break
    }
    if ([...streams.values()].some((stream) => stream.unread < MAX_UNREAD)) turnSoon()
  }

  const advance = (stream: Stream): void => {
    const untilMs = performance.now() + SLICE_MS
    let isDone = false
    do {
      const piece = stream.pieces.next()
      if (piece.done === true) isDone = true
      else stream.text += piece.value
    } while (!isDone && stream.text.length < CHUNK_LENGTH && performance.now() < untilMs)
    if (!stream.isAnnounced) {
      if (!isDone && stream.text.length < CHUNK_LENGTH) return
      if (!announce(stream, isDone ? stream.text : stream.version, isDone)) return
    }
    if (stream.text !== '') {
      stream.unread++
      post({ kind: 'chunk', id: stream.id, text: stream.text })
      stream.text = ''
    }
    if (!isDone) return
    streams.delete(stream.id)
    post({ kind: 'end', id: stream.id })
  }

  /** False when nothing is to follow: the caller has the answer already, or now. */
  const announce = (stream: Stream, version: string, isWhole = false): boolean => {
    const { id } = stream
    const etag = `W/"${createHash('sha1').update(version).digest('base64url')}"`
    const isKnown = stream.known.includes(etag)
    if (isKnown || isWhole) {
      stream.pieces.return?.()
      streams.delete(id)
      post(isKnown ? { kind: 'notModified', id, etag } : { kind: 'whole', id, etag, text: stream.text })
      return false
    }
    stream.isAnnounced = true
    post({ kind: 'found', id, etag })
    return true
  }

  const begin = ({ id, question, known }: Extract<ToQuery, { kind: 'ask' }>): void => {
    const version = dataVersion()
    const answered = answer(queries, question)
    if (answered.kind !== 'found') {
      post({ kind: 'refused', id, refusal: answered.kind })
      return
    }
    const stream: Stream = {
      id,
      pieces: answered.pieces[Symbol.iterator](),
      version: `${salt} ${version}`,
      known,
      text: '',
      isAnnounced: false,
      unread: 0,
    }
    streams.set(id, stream)
    if (answered.version !== undefined && !announce(stream, `${salt} ${answered.version}`)) return
    guarded(id, () => advance(stream))
    if (streams.has(id)) turnSoon()
  }

  const guarded = (id: number, work: () => void): void => {
    try {
      work()
    } catch (error) {
      streams.delete(id)
      post({ kind: 'failed', id, reason: reasonOf(error) })
    }
  }

  port.on('message', (message: ToQuery) => {
    switch (message.kind) {
      case 'ask':
        guarded(message.id, () => begin(message))
        return
      case 'read': {
        const stream = streams.get(message.id)
        if (stream !== undefined) stream.unread--
        turnSoon()
        return
      }
      case 'cancel':
        streams.get(message.id)?.pieces.return?.()
        streams.delete(message.id)
        return
      case 'stop':
        streams.clear()
        port.close()
        onStop()
    }
  })
}

/** Why there is no answer, in words for the reader. */
export interface Trouble {
  /** The API's own code, or `unreachable`, or `unreadable`. */
  code: string
  message: string
}

type Fetched<T> =
  | { kind: 'new'; data: T; etag: string | null }
  | { kind: 'unchanged' }
  | { kind: 'trouble'; trouble: Trouble }

interface FetchOptions {
  signal: AbortSignal
  /** The etag of the answer that is already loaded. */
  etag?: string | null
  /** Called with the number of bytes received so far. */
  onBytes?: (bytes: number) => void
}

/** Requests the API. Rejects only when it was aborted. */
export async function fetchAnswer<T>(
  path: string,
  { signal, etag, onBytes }: FetchOptions,
): Promise<Fetched<T>> {
  try {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (etag) headers['if-none-match'] = etag
    const response = await fetch(path, { signal, headers, cache: 'no-store' })
    if (response.status === 304) return { kind: 'unchanged' }
    if (!response.ok) return { kind: 'trouble', trouble: await readTrouble(response) }
    const data = JSON.parse(withoutTurns(await readText(response, onBytes))) as T
    return { kind: 'new', data, etag: response.headers.get('etag') }
  } catch (error) {
    if (signal.aborted) throw error
    return { kind: 'trouble', trouble: troubleOf(error) }
  }
}

/** Unicode's embeddings, overrides and isolates. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g

/** Senders choose names. These characters in a name would change the order in which the text around it is read. */
function withoutTurns(text: string): string {
  return text.replaceAll(TURNS, '\ufffd')
}

async function readText(response: Response, onBytes: FetchOptions['onBytes']): Promise<string> {
  if (response.body === null || onBytes === undefined) return response.text()
  let bytes = 0
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.length
        onBytes(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
  return new Response(counted).text()
}

async function readTrouble(response: Response): Promise<Trouble> {
  const text = withoutTurns(await response.text())
  try {
    const body = JSON.parse(text) as { error?: Partial<Trouble> }
    if (body.error?.code !== undefined && body.error.message !== undefined) {
      return { code: body.error.code, message: body.error.message }
    }
  } catch {
    // A proxy in between may answer in its own words.
  }
  return { code: 'unreadable', message: `The answer was ${response.status} ${response.statusText}` }
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof SyntaxError) {
    return { code: 'unreadable', message: 'The answer was cut short; load it again' }
  }
  return { code: 'unreachable', message: 'Causeway does not answer; see whether it is running' }
}

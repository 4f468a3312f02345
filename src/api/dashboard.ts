import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { isForPrograms } from './gate.ts'
import { ownValue } from '../model/own-value.ts'

/** Files of our own and nothing else; no code or style in the page itself. */
const SECURITY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const ASSET = /^\/assets\/([A-Za-z0-9_-][A-Za-z0-9_.-]*)$/
const FORMS = [
  { encoding: 'br', extension: '.br' },
  { encoding: 'gzip', extension: '.gz' },
]
const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Causeway</title>
<h1>The dashboard has not been built</h1>
<p>Run <code>npm run build</code> in Causeway's folder, then load this page again. Causeway need not be restarted.</p>
<p>Everything else works: the API answers under <code>/api/v1/</code>.</p>
</html>
`

/**
 * Answers requests for the dashboard from the folder that `npm run build` fills: its assets, and its one page at every
 * address that a browser asks for. Resolves to false, nothing answered, when the request is for something else.
 */
export async function serveDashboard(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  const path = URL.parse(request.url ?? '/', 'http://causeway')?.pathname ?? '/'
  const asset = ASSET.exec(path)?.[1]
  if (asset !== undefined) return sendAsset(join(folder, 'assets', asset), request, response)
  if (path !== '/' && !isForBrowser(path, request)) return false
  await sendPage(join(folder, 'index.html'), request, response)
  return true
}

function isForBrowser(path: string, { headers }: IncomingMessage): boolean {
  return (
    !isForPrograms(path) && !/^\/assets(?:\/|$)/.test(path) && headers.accept?.includes('text/html') === true
  )
}

/** The name of an asset changes with its content, so that it may be kept for good. */
async function sendAsset(file: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const type = ownValue(TYPES, extname(file))
  const found = type === undefined ? undefined : await readForm(file, request)
  if (found === undefined) return false
  send(response, 200, found.bytes, {
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    ...found.headers,
  })
  return true
}

async function sendPage(file: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const found = await readForm(file, request)
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }
  if (found === undefined) {
    send(response, 503, Buffer.from(NOT_BUILT), headers)
    return
  }
  const etag = `"${createHash('sha256').update(found.bytes).digest('base64url')}"`
  const isKnown = request.headers['if-none-match'] === etag
  send(response, isKnown ? 304 : 200, isKnown ? undefined : found.bytes, {
    ...headers,
    etag,
    ...found.headers,
  })
}

function send(
  response: ServerResponse,
  status: number,
  bytes: Buffer | undefined,
  headers: Record<string, string | undefined>,
): void {
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  response.writeHead(status, { ...SECURITY, ...headers, ...length })
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}

/** The file in the smallest form that the caller takes; undefined when there is no such file. */
async function readForm(
  file: string,
  { headers }: IncomingMessage,
): Promise<{ bytes: Buffer; headers: Record<string, string> } | undefined> {
  const accepted = (headers['accept-encoding']?.toString() ?? '').split(/\s*,\s*/)
  for (const { encoding, extension } of FORMS) {
    if (!accepted.some((item) => item.split(';', 1)[0] === encoding && !/;\s*q=0(?:\.0+)?$/.test(item)))
      continue
    const bytes = await read(file + extension)
    if (bytes !== undefined) {
      return { bytes, headers: { 'content-encoding': encoding, vary: 'accept-encoding' } }
    }
  }
  const bytes = await read(file)
  return bytes && { bytes, headers: { vary: 'accept-encoding' } }
}

async function read(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    ['ENOENT', 'ENOTDIR'].includes(String(error.code))
  )
}

import { execFile, spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freshDirectory } from '../../../harness/fresh-directory.ts'

/** What files a commit has, by their names; undefined for one that is taken away. */
type Files = Readonly<Record<string, string | undefined>>

const run = promisify(execFile)

async function git(...args: string[]): Promise<string> {
  const { stdout } = await run('git', args)
  return stdout.trim()
}

/** A repository of git that is served over HTTP on this machine, and that people push to, until the program ends. */
export class ServedRepository {
  readonly #directory = freshDirectory(tmpdir())
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<ServedRepository> {
    const served = new ServedRepository()
    mkdirSync(served.#bare)
    await git('init', '--quiet', '--bare', '--initial-branch=main', served.#bare)
    await git('clone', '--quiet', served.#bare, served.#clone)
    served.#server.listen(0, '127.0.0.1')
    await once(served.#server, 'listening')
    served.#server.unref()
    return served
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the repository is not served')
    return `http://127.0.0.1:${address.port}/served.git`
  }

  /** Commits files as somebody, and pushes that; gives the revision as Flux names it. */
  async push(author: string, message: string, files: Files, branch = 'main'): Promise<string> {
    const inClone = (...args: string[]): Promise<string> => git('-C', this.#clone, ...args)
    await inClone('checkout', '--quiet', '-B', branch)
    for (const [name, text] of Object.entries(files)) {
      if (text === undefined) rmSync(join(this.#clone, name))
      else writeFileSync(join(this.#clone, name), text)
    }
    await inClone('add', '--all')
    const as = ['-c', `user.name=${author}`, '-c', `user.email=${author}@example.com`]
    await inClone(...as, 'commit', '--quiet', '--message', message)
    await inClone('push', '--quiet', 'origin', branch)
    return `${branch}@sha1:${await inClone('rev-parse', 'HEAD')}`
  }

  get #bare(): string {
    return join(this.#directory.path, 'served.git')
  }

  get #clone(): string {
    return join(this.#directory.path, 'clone')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
    const backend = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: this.#directory.path,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: request.headers['git-protocol']?.toString() ?? '',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    request.pipe(backend.stdin)
    const chunks: Buffer[] = []
    for await (const chunk of backend.stdout) chunks.push(chunk as Buffer)
    const all = Buffer.concat(chunks)
    const ends = all.indexOf('\r\n\r\n')
    for (const line of all.subarray(0, ends).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(': ', 2)
      if (name === 'Status') response.statusCode = Number.parseInt(value)
      else response.setHeader(name, value)
    }
    response.end(all.subarray(ends + 4))
  }
}

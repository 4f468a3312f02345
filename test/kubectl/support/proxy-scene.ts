import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { ChangeProxy } from '../../../packages/kubectl/change-proxy.ts'
import type { KubectlChange } from '../../../packages/kubectl/kubectl-change.ts'
import { LocalListener } from '../../../packages/kubectl/local-listener.ts'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import { bearer, fixedCredential } from '../../../src/kube/cluster/cluster-access.ts'

/** API servers take heads as long as this. */
const MAX_HEAD = 2 ** 20

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** The proxy of `causeway kubectl` before an API server that answers as it is told. */
export class ProxyScene implements Disposable {
  readonly change: KubectlChange = {
    cpid: '00000000-0000-4000-8000-000000000001' as Cpid,
    ...{ traceId: '1'.repeat(32), spanId: '1'.repeat(16), startNs: 1n, reason: 'a test' },
    ...{ wrote: [], writes: 0, written: new Set<string>(), marks: 0, merges: new Map() },
  }
  readonly #api: ReturnType<typeof createServer>
  readonly #proxy: ChangeProxy
  readonly #listener: LocalListener

  private constructor(api: ReturnType<typeof createServer>, listener: LocalListener) {
    this.#api = api
    this.#listener = listener
    const url = new URL(`http://127.0.0.1:${(api.address() as AddressInfo).port}`)
    const credential = fixedCredential({ headers: bearer('secret') })
    const access = { name: 'c', server: url, tls: {}, proxy: '', credential, namespace: '' }
    this.#proxy = new ChangeProxy(access, this.change, { token: 'token' }, () => undefined)
    listener.takeBy((socket) => this.#proxy.serve(socket))
  }

  static async open(answer: Answer): Promise<ProxyScene> {
    const api = createServer(
      { maxHeaderSize: MAX_HEAD },
      (request, response) => void answer(request, response),
    )
    const { promise, resolve } = Promise.withResolvers<undefined>()
    api.listen(0, '127.0.0.1', () => resolve(undefined))
    await promise
    return new ProxyScene(api, await LocalListener.open())
  }

  /** Sends the head of a request; the answer is there once the body is as long as the API server wants it. */
  ask(method: string, path: string, headers = {}) {
    const { promise: answer, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const asked = request({
      ...{ host: '127.0.0.1', port: this.#listener.port, agent: false },
      ...{ method, path: `/token${path}`, headers },
    })
    asked.on('response', resolve).on('error', reject)
    asked.flushHeaders()
    return { asked, answer }
  }

  /** Sends a whole request, and reads the whole answer. */
  async send(method: string, path: string, headers: object, body: Buffer | string) {
    const framed = 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) }
    const { asked, answer } = this.ask(method, path, { ...headers, ...framed })
    asked.end(body)
    const got = await answer
    return { status: got.statusCode, body: await buffer(got) }
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]()
    this.#proxy[Symbol.dispose]()
    this.#api.close()
    this.#api.closeAllConnections()
  }
}

import type { KubernetesObject } from '../objects/kubernetes-object.ts'

// The used parts of @kubernetes/client-node as structural types, so that any version fits and none is loaded.

/** A `KubeConfig`. */
export interface ClientConfig {
  makeApiClient: (type: never) => unknown
}

/** An informer of `makeInformer`, or a `ListWatch`. */
export interface ClientInformer<T> {
  on: (verb: 'add' | 'update' | 'delete', told: (object: T) => void) => void
  get: (name: string, namespace?: string) => T | undefined
  list: (namespace?: string) => readonly T[]
}

type Anything = (...given: never[]) => unknown

/** An informer of any kind of object. */
export interface AnyInformer {
  on: Anything
  get: Anything
  list: Anything
}

/** `makeInformer`. */
export type MakesInformers = (config: never, path: string, list: never, labelSelector?: string) => AnyInformer

export interface ClientList {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly items: ClientObject[]
}

/** An object in a typed list or informer. */
export type ClientObject = KubernetesObject

/** The part of an API's configuration that sends requests. */
export interface ClientConfiguration {
  readonly httpApi: HttpApi
}

export interface HttpApi {
  send: (request: ClientRequest) => Promised<ClientResponse>
}

export interface ClientRequest {
  getUrl: () => string
  getHttpMethod: () => string
  getHeaders: () => Record<string, string>
  getBody: () => unknown
  setBody: (body: string) => void
  setHeaderParam: (name: string, value: string) => void
  getSignal?: () => unknown
  setSignal?: (signal: never) => void
  getDispatcher?: () => unknown
  setDispatcher?: (dispatcher: never) => void
}

export interface ClientResponse {
  readonly httpStatusCode: number
  body: ClientBody
}

interface ClientBody {
  text: () => Promise<string>
  binary: () => Promise<unknown>
  stream?: () => unknown
}

/** The client's Observable: a promise with `pipe`. */
interface Promised<T> {
  toPromise: () => Promise<T>
  pipe: <Next>(next: (value: T) => Next | Promise<Next>) => Promised<Next>
}

export function promised<T>(promise: Promise<T>): Promised<T> {
  return { toPromise: () => promise, pipe: (next) => promised(promise.then(next)) }
}

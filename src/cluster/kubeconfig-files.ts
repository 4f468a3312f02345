import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { arrayIn, isObject, objectIn, textIn, type Json, type JsonObject } from '../kubernetes/json-access.ts'
import { errorText } from '../model/error-text.ts'

/** A part of a kubeconfig by its name, and the folder that paths in it are relative to. */
export interface NamedPart {
  readonly content: JsonObject
  readonly directory: string
}

export interface Kubeconfig {
  /** Where it stands, for messages. */
  readonly files: readonly string[]
  readonly currentContext: string
  readonly clusters: ReadonlyMap<string, NamedPart>
  readonly users: ReadonlyMap<string, NamedPart>
  readonly contexts: ReadonlyMap<string, NamedPart>
}

/** Where kubectl looks: what `KUBECONFIG` names, else `~/.kube/config`. */
export function kubeconfigFiles(
  env: Readonly<Record<string, string | undefined>> = process.env,
  home = homedir(),
): string[] {
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  return named.length > 0 ? named : [join(home, '.kube', 'config')]
}

/**
 * Reads files as one, as kubectl does: of parts with one name the first counts, and files that are not there are passed over
 * unless none is. Throws an Error that names the file.
 */
export function readKubeconfig(files: readonly string[]): Kubeconfig {
  const there = files.filter((path) => existsSync(path))
  if (there.length === 0)
    throw new Error(`there is no kubeconfig at ${files.join(', ')}; name one (--kubeconfig, KUBECONFIG)`)
  const clusters = new Map<string, NamedPart>()
  const users = new Map<string, NamedPart>()
  const contexts = new Map<string, NamedPart>()
  let currentContext = ''
  for (const path of there) {
    const content = readFile(path)
    currentContext ||= textIn(content, 'current-context')
    const directory = dirname(path)
    addParts(clusters, content, 'clusters', 'cluster', directory)
    addParts(users, content, 'users', 'user', directory)
    addParts(contexts, content, 'contexts', 'context', directory)
  }
  return { files: there, currentContext, clusters, users, contexts }
}

/** The text under `<key>-data`, or of the file under `<key>`; empty where there is neither. */
export function fileOrData({ content, directory }: NamedPart, key: string): string {
  const data = textIn(content, `${key}-data`)
  if (data !== '') return Buffer.from(data, 'base64').toString()
  const file = textIn(content, key)
  if (file === '') return ''
  try {
    return readFileSync(resolve(directory, file), 'utf8')
  } catch (cause) {
    throw new Error(`the kubeconfig's ${key} cannot be read: ${errorText(cause)}`, { cause })
  }
}

function readFile(path: string): JsonObject {
  let content: Json
  try {
    content = parse(readFileSync(path, 'utf8')) as Json
  } catch (cause) {
    throw new Error(`the kubeconfig ${path} cannot be read: ${errorText(cause)}`, { cause })
  }
  if (!isObject(content)) throw new Error(`${path} is no kubeconfig`)
  return content
}

function addParts(
  parts: Map<string, NamedPart>,
  content: JsonObject,
  list: string,
  key: string,
  directory: string,
): void {
  for (const entry of arrayIn(content, list)) {
    const name = textIn(entry, 'name')
    if (!parts.has(name)) parts.set(name, { content: objectIn(entry, key), directory })
  }
}

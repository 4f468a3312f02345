import { ownValue } from '../model/own-value.ts'

/** What JSON.parse gives. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

const NOTHING: JsonObject = {}

/** The object there, or one without anything: what others wrote may lack any part. */
export function objectIn(parent: Json | undefined, key: string): JsonObject {
  const value = valueIn(parent, key)
  return isObject(value) ? value : NOTHING
}

export function arrayIn(parent: Json | undefined, key: string): Json[] {
  const value = valueIn(parent, key)
  return Array.isArray(value) ? value : []
}

export function textIn(parent: Json | undefined, key: string): string {
  const value = valueIn(parent, key)
  return typeof value === 'string' ? value : ''
}

export function numberIn(parent: Json | undefined, key: string): number {
  const value = valueIn(parent, key)
  return typeof value === 'number' ? value : 0
}

export function booleanIn(parent: Json | undefined, key: string): boolean {
  return valueIn(parent, key) === true
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The namespace of an object; empty where it has none. */
export function namespaceOf(object: Json): string {
  return textIn(objectIn(object, 'metadata'), 'namespace')
}

function valueIn(parent: Json | undefined, key: string): Json | undefined {
  return isObject(parent) ? ownValue(parent, key) : undefined
}

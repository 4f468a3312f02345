/** A proxy of an object that replaces some methods; all others run on the original. */
export function withMethods<T extends object>(of: T, methods: Partial<Record<keyof T, unknown>>): T {
  const own = new Map<PropertyKey, unknown>(Object.entries(methods))
  return new Proxy(of, {
    get(target, name) {
      if (own.has(name)) return own.get(name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** The object itself, except for these methods; whatever else is called on it is called on the original. */
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

/** What the work gives, or undefined where it throws what it may throw. Anything else it throws goes on. */
export function onlyThrows<T>(mayBe: (error: unknown) => boolean, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (mayBe(error)) return undefined
    throw error
  }
}

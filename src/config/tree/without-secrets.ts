const REDACTED = '[REDACTED]'
/** A user and password before a host, with or without a scheme. */
const LOGIN = /(^|\/\/)[^/?#\s@]*:[^/?#\s]*@|(\/\/)[^/?#\s@]+@/g
/** What a parameter is set to, unless that is a placeholder. */
const PARAMETER = /([?&][^=&#\s]+=)(?!\{)[^&#\s]+/g

/** A text that may be shown: passwords and keys in a URL are blacked out. */
export function withoutSecrets(text: string): string {
  if (!text.includes('@') && !text.includes('?')) return text
  const anonymous = text.replaceAll(
    LOGIN,
    (_, before: string | undefined, slashes: string | undefined) => `${before ?? slashes ?? ''}${REDACTED}@`,
  )
  return text.includes('://') ? anonymous.replaceAll(PARAMETER, `$1${REDACTED}`) : anonymous
}

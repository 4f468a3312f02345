/** Who sent a request, as far as the connection proves it; what the request says of itself is not in here. */
export interface Sender {
  /** The authenticator that knew the credential, by its id in the configuration, such as `basicauth/controllers`. */
  readonly authenticator?: string
  /** The user it logged in as; bearer tokens have none. */
  readonly username?: string
  /** The names in the client's certificate, each with its kind (`cn:web`): its common name, then its alternative names. */
  readonly certificate?: readonly string[]
}

const KIND = /^[a-z]+:/

/** How a sender is called in messages and rows. */
export function nameOfSender(sender: Sender | undefined): string {
  return (
    sender?.username ??
    sender?.certificate?.[0]?.replace(KIND, '') ??
    sender?.authenticator ??
    'an unknown sender'
  )
}

/** All that a sender proved of itself, to tell senders apart; undefined where the connection proves nothing. */
export function credentialOf({ authenticator, username, certificate }: Sender): string | undefined {
  const proven = [authenticator, username, certificate?.[0]].filter((part) => part !== undefined)
  return proven.length === 0 ? undefined : proven.join('/')
}

import { credentialOf, type Sender } from '../../model/senders/sender.ts'

/** To whom is charged what a request holds while it is read: a credential at an address, since many may share either. */
export function holderOf(sender: Sender | undefined, peer: string): string {
  const credential = sender && credentialOf(sender)
  return credential === undefined ? peer : `${credential}@${peer}`
}

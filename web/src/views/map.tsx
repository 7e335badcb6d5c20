import { Page } from '../ui/bits'
export function MapView(_: { chosen: string | null }) {
  return <Page title="Map" sub="">{null}</Page>
}

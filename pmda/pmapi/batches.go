package pmapi

import "pmdaderived/pdu"

// askInBatches asks for n items in few requests, though pmcd may refuse a whole request because of one item in it. ask asks for the
// items from lo on, at most so many, as far as one request holds them; it returns the first that it has not asked for, and the
// code by which the request is refused (< 0). That is refused's if the request was for one item, else it is asked again for
// half of them; how many there are at once then doubles from answer to answer.
//
// One item that is refused among those of one request, n of them, takes some 2 log2(n) requests more; if all are, there is one for each
// and few besides.
func askInBatches(n int, ask func(lo, most int) (hi int, code pdu.Code, err error), refused func(i int, code pdu.Code)) error {
	most := n
	doubtful := 0 // end of the last request that was refused: one before it is at fault
	for lo := 0; lo < n; {
		hi, code, err := ask(lo, most)
		switch {
		case err != nil:
			return err
		case code < 0 && hi-lo > 1:
			doubtful, most = hi, (hi-lo)/2
			continue
		case code < 0:
			refused(lo, code)
			most = 1
		case hi < doubtful:
			most = (doubtful - hi + 1) / 2
		default:
			most = 2 * (hi - lo)
		}
		lo = hi
	}
	return nil
}

package pmapi

import "pmdaderived/pdu"

// askInBatches asks for n items in few requests, although pmcd may refuse a whole request because of one of its items.
//
// ask sends a request for the items from lo on, for most of them at the most and not more than one request can have. It
// returns the index after the last item of the request, and a code below zero if pmcd refused the request. A refused
// request for several items is repeated with half of them. For a refused request for one item refused is called with
// its index and code. After a good answer the next request may have twice as many items.
//
// One refused item in a request for n costs about 2 log2(n) requests more. If all items are refused, there is one
// request for each and a few more.
func askInBatches(
	n int, ask func(lo, most int) (hi int, code pdu.Code, err error), refused func(i int, code pdu.Code),
) error {
	most := n
	doubtful := 0 // end of the last request that was refused: an item before it is the reason
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

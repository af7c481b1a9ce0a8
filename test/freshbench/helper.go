package freshbench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"pmdaderived/pmda"
)

// Words that make the program a helper, each followed by its arguments.
const (
	clockHelper = "freshbench-clock" // file of arrivals
	slowHelper  = "freshbench-slow"  // file that makes it slow, file of its naps, how long one takes
	loadHelper  = "freshbench-load"  // number of clients
)

// Helper does the work of a helper process and reports whether the arguments, those after the program's
// name, make this process one. The program then ends with the status.
func Helper(args []string) (status int, helper bool) {
	if len(args) == 0 {
		return 0, false
	}
	var err error
	switch {
	case args[0] == clockHelper && len(args) == 2:
		err = serveClock(args[1])
	case args[0] == slowHelper && len(args) == 4:
		err = serveSlow(args[1], args[2], args[3])
	case args[0] == loadHelper && len(args) == 2:
		err = runLoad(args[1])
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

// serve runs an agent on the pipe that pmcd has opened.
func serve(a pmda.Agent) error {
	in, out, err := pmda.Stdio()
	if err != nil {
		return err
	}
	pmda.IgnoreSIGPIPE()
	return (&pmda.Server{Agent: a}).Serve(context.Background(), in, out)
}

// openShared opens a file that an agent adds lines to and others read. It exists, for agents are not always the same user.
func openShared(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

func parsePositive(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s %q: want a positive number", what, text)
	}
	return n, nil
}

// wallClock is the time of day in ns since the Epoch, as the metrics have it.
func wallClock(t time.Time) uint64 { return uint64(t.UnixNano()) }

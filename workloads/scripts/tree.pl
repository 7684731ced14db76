#!/usr/bin/perl
# Makes a tree of files like the source of Linux, or a history of such a tree, all of it from a seed.
#
#   perl tree.pl write     the tree ROOT in the working directory
#   perl tree.pl tar       the same tree as the archive ROOT.tar
#   perl tree.pl change    edits CHANGE percent of the files of the tree ROOT, which must be there
#   perl tree.pl history   a history of COMMITS commits, on standard output, for git fast-import
#
# From the environment: FILES, SEED (1), ROOT (tree), CHANGE (5), COMMITS (1000). write and tar also leave ROOT.count, which a
# shell can read: how many files and bytes there are, and how many files hold the word NEEDLE.
#
# Where the numbers come from:
# - Numbers of files and directories and the mean size: Linux 6.x, which has about 80,000 files in somewhat more than 5,000
#   directories, 14 KB each on average. FILES scales both.
# - Sizes are lognormal, with a median of 4.5 KB: Agrawal, Bolosky, Douceur, Lorch, "A Five-Year Study of File-System Metadata"
#   (FAST 2007) finds that body, and a median of 4 KB that did not move in five years. Median and mean together give sigma.
# - Directories grow as that study models them: each new one goes below an old one with a chance that is proportional to the
#   subdirectories it has, plus two, down to a depth of seven. How many files a directory holds is drawn from the study's inverse
#   polynomial of degree 2, offset 2.36.
# - Endings are shared out roughly as in Linux. The text is made line by line of beginnings and ends, of which each file
#   has a choice of its own; it compresses as source does, about four to one, and no file is the copy of another.

use strict;
use warnings;

use constant { MEDIAN => 4500, SIGMA => 1.507, LARGEST => 4 << 20, PER_DIRECTORY => 15, DEEPEST => 7, DATE => 1700000000 };
use constant NEEDLE => 'lockdep_needle_held';

my $mode = shift // '';
my ($files, $seed, $root) = ($ENV{FILES} // 8000, $ENV{SEED} // 1, $ENV{ROOT} // 'tree');
my ($change, $commits) = ($ENV{CHANGE} // 5, $ENV{COMMITS} // 1000);
$change =~ s/\s*%//;
/^\d+$/ or die "tree.pl: '$_' is not a number\n" for $files, $seed, $commits;
$change =~ /^\d+(\.\d+)?$/ or die "tree.pl: '$change' is not a share\n";

# Perl has carried its own generator since 5.20, so a seed means the same everywhere.
srand $seed;

my @words = qw(acpi action addr adapter alloc arch async attr audio bank base batch bind bit block board bridge buf bus button
    cache call cap card cell chain channel charger check chip claim class clk clock cluster codec command common compat config
    console context control core count cpu crypto ctx current cursor cycle data deadline debug decode default delay depth desc
    dev device direct disk dma domain drain driver drop dump edge enable encode endpoint engine entry error event export extent
    fabric fault feature field file filter firmware fixed flag flow flush fold fops format frame free freq gate generic gpio
    graph group guard guest handle hash head heap helper hold host hub hwmon index info init inner input inode instance int
    interface ioctl iommu irq isolate item job journal kernel key kick label latch layer lease legacy length level limit line
    link list load local lock log lookup loop lower main map mark mask master match mbox media member memory meta mgmt migrate
    mode module monitor mount msg mtd mutex mux name net next nfs node notify object offset ops order owner packet page panel
    param parent parse part path pause pci peer pending perf phase phy pin pipe platform plane pmic policy poll pool port power
    prepare priv probe process profile prop proto proxy pull pwm queue quirk quota radio range rate raw read ready reclaim
    record reg region regulator release remap remote remove reply request reserve reset resource resume ring root route rule
    sample scale scan sched schedule scope sector secure select sensor seq serial server session setup shadow share signal size
    slab sleep slot smp snap socket soft sound source spi split stack stage start state static status step stop store stream
    string stub submit suspend switch symbol sync sysfs table tag target task temp thermal thread tick timer token touch trace
    track trans tree trigger tunnel type uart unit update upper usb user util value vector verify version video virt volume
    wait wake walk watch watchdog wave width window wire word work wrap write xattr xfer yield zone);

my @endings = (['.c', 42], ['.h', 31], ['.rst', 4], ['.dts', 3], ['.dtsi', 3], ['.yaml', 5], ['.S', 2], ['.txt', 2], ['.sh', 2],
    ['.json', 2], ['.py', 1], ['', 3]);
my %prose = map { $_ => 1 } qw(.rst .txt .yaml);

sub one { $_[rand @_] }

sub normal { sqrt(-2 * log(1 - rand)) * cos(6.283185307179586 * rand) }

# ---- text

sub name { join '_', map { one(@words) } 1 .. 1 + rand 2.5 }

my @starts = map {
    my $indent = "\t" x (1 + rand 3);
    my ($x, $y) = (name(), one(@words));
    $indent . one("$x = ", "$y->$x = ", "if ($x ", "if (!$y->", "return $x", "ret = $x", "struct $x *", "for ($y = 0; ", "pr_debug(\"$x: ",
        "/* $x $y ", "case \U${x}\E:", "} else if ($y ", "$x(", "dev_err($y, ", "u32 $x = ", "goto $y", "#define \U${x}_$y\E ")
} 1 .. 6000;
my @ends = map {
    my ($x, $y, $z) = (name(), name(), one(@words));
    my $n = int rand 4096;
    one("$x($y, $z);", "$x->$y;", "$x & $y)", "${z}->$x\[$n];", sprintf("0x%04x,", $n), "$x, $y, $z);", "$z == $n)", "($y << $n) | \U$x\E;",
        "$x $y $z */", "sizeof(*$z), GFP_KERNEL);", "$x($z->$y, $n);", "$n;", "%d\\n\", $z);", "&$x->$y))", "$x < $y; $z++) {") . "\n"
} 1 .. 6000;
my @phrases = map { join(' ', map { one(one(@words), one(@words), qw(the a of is and to in for with that when by)) } 1 .. 2 + rand 5) . ' ' } 1 .. 6000;

# Text of the given length. A file says some things again and again and others once: it has a choice of beginnings and
# ends of its own, which grows with the root of its length.
sub text {
    my ($length, $stem, $prose) = @_;
    my $choice = 8 + 1.6 * sqrt $length;
    my @pieces;
    my $text;
    if ($prose) {
        my @own = map { $phrases[rand @phrases] } 1 .. $choice;
        $text = "$stem\n" . '=' x length($stem) . "\n\n";
        while (length $text < $length) {
            $text .= join '', (map { $own[rand @own] . $own[rand @own] . $own[rand @own] . "\n" } 1 .. 4 + rand 5), "\n";
        }
    } else {
        my @begin = map { $starts[rand @starts] } 1 .. $choice;
        my @end = map { $ends[rand @ends] } 1 .. $choice;
        $text = "// SPDX-License-Identifier: GPL-2.0\n/* $stem */\n\n#include <linux/$words[rand @words].h>\n\n";
        while (length $text < $length) {
            my $what = $words[rand @words];
            $text .= join '', "static int ${stem}_$what(struct $stem *$what)\n{\n",
                (map { $begin[rand @begin] . $end[rand @end] } 1 .. 5 + rand 25), "\treturn 0;\n}\n\n";
        }
    }
    substr($text, $length) = '';
    substr($text, -1) = "\n" if $length;
    return $text;
}

# One to three places of a text get other lines, as an edit does.
sub edit {
    my ($text) = @_;
    for (1 .. 1 + rand 3) {
        my $from = 1 + index $text, "\n", int rand length $text;
        my $to = $from;
        for (1 .. rand 6) {
            my $next = index $text, "\n", $to;
            last if $next < 0;
            $to = $next + 1;
        }
        substr($text, $from, $to - $from) = join '', map { $starts[rand @starts] . $ends[rand @ends] } 1 .. 1 + rand 6;
    }
    return $text;
}

# ---- the tree

# Directories with their parents, all of them before any file.
my (@directories, @depth, @tickets, %taken);
sub directory {
    my ($parent) = @_;
    my $path;
    do { $path = defined $parent ? "$directories[$parent]/" . one(@words) . (rand() < 0.3 ? one('', '-') . one(@words) : '') : $root }
        while $taken{$path}++;
    push @directories, $path;
    push @depth, defined $parent ? $depth[$parent] + 1 : 0;
    # One ticket for each subdirectory, and two for the directory itself.
    push @tickets, $parent if defined $parent;
    push @tickets, ($#directories) x 2 if $depth[-1] < DEEPEST - 1;
}
directory(undef);
while (@directories < $files / PER_DIRECTORY) {
    directory($tickets[rand @tickets]);
}

# Each directory gets a share of the files, at least one.
my @share = map { my $u = rand(0.99); 1 + 2.36 * $u / (1 - $u) } @directories;
my $shares = 0;
$shares += $_ for @share;
my @ending = map { ($_->[0]) x $_->[1] } @endings;
my @tree;    # [path, size, seed, has the needle]
my $rest = $files;
for my $n (sort { $directories[$a] cmp $directories[$b] } 0 .. $#directories) {
    my $here = $share[$n] / $shares * $rest;
    $here = int($here + rand);
    $shares -= $share[$n];
    $here = $rest if $here > $rest || $shares <= 1e-9;
    $rest -= $here;
    for my $i (1 .. $here) {
        my $path;
        do {
            $path = "$directories[$n]/" . ($i == 1 ? 'Makefile' : $i == 2 && $here > 8 ? 'Kconfig' :
                one(@words) . (rand() < 0.7 ? one('-', '_', '') . one(@words) : '') . (rand() < 0.2 ? int rand 1000 : '') . one(@ending));
        } while $taken{$path}++ && ($i > 2 || die "tree.pl: $path twice\n");
        my $size = int(MEDIAN * exp(SIGMA * normal()));
        $size = 40 if $size < 40;
        $size = LARGEST if $size > LARGEST;
        push @tree, [$path, $size, int(rand 2**31), rand() < 0.01];
    }
}

sub content {
    my ($path, $size, $own, $needle) = @{ $_[0] };
    srand $own;
    my ($stem, $ending) = $path =~ m{([^/.]+)(\.[^/.]*)?$} or die;
    $stem =~ tr/-/_/;
    my $text = text($size, $stem, $prose{ $ending // '' });
    if ($needle) {
        my $at = 1 + index $text, "\n", int rand length $text;
        substr($text, $at, 0) = "\t" . NEEDLE . "(&$stem->lock);\n";
    }
    return $text;
}

sub store {
    my ($path, $text) = @_;
    open my $out, '>:raw', $path or die "tree.pl: $path: $!\n";
    (syswrite($out, $text) // -1) == length $text or die "tree.pl: $path: $!\n" if length $text;
    close $out or die "tree.pl: $path: $!\n";
}

sub count {
    my ($bytes) = @_;
    store("$root.count", sprintf "files=%d\ndirectories=%d\nbytes=%d\nneedle=%s\nneedles=%d\n", scalar @tree, scalar @directories, $bytes,
        NEEDLE, scalar grep { $_->[3] } @tree);
}

# Files keep a fixed date of the past, as files do that a backup or a build finds.
sub write_tree {
    my $bytes = 0;
    mkdir $_ or die "tree.pl: $_: $!\n" for @directories;
    for my $file (@tree) {
        my $text = content($file);
        store($file->[0], $text);
        utime DATE, DATE, $file->[0] or die "tree.pl: $file->[0]: $!\n";
        $bytes += length $text;
    }
    count($bytes);
}

sub write_tar {
    my $bytes = 0;
    open my $out, '>:raw', "$root.tar" or die "tree.pl: $root.tar: $!\n";
    my $head = sub {
        my ($path, $mode, $size, $type) = @_;
        my ($prefix, $name) = ('', $path);
        ($prefix, $name) = $path =~ m{^(.{1,155})/(.{1,100})$} or die "tree.pl: $path is too long for tar\n" if length $path > 100;
        my $head = pack 'a100 a8 a8 a8 a12 a12 a8 a1 a100 a6 a2 a32 a32 a8 a8 a155 x12', $name, sprintf('%07o', $mode), ('0000000') x 2,
            sprintf('%011o', $size), sprintf('%011o', DATE), ' ' x 8, $type, '', 'ustar', '00', 'root', 'root', '0000000', '0000000', $prefix;
        substr($head, 148, 8) = sprintf("%06o\0 ", unpack '%32C*', $head);
        print $out $head or die "tree.pl: $root.tar: $!\n";
    };
    for my $path (sort @directories) {
        $head->("$path/", 0755, 0, '5');
    }
    for my $file (@tree) {
        my $text = content($file);
        $head->($file->[0], 0644, length $text, '0');
        print $out $text, "\0" x (-length($text) % 512) or die "tree.pl: $root.tar: $!\n";
        $bytes += length $text;
    }
    print $out "\0" x 10240 or die "tree.pl: $root.tar: $!\n";
    close $out or die "tree.pl: $root.tar: $!\n";
    count($bytes);
}

sub change_tree {
    my @chosen = grep { rand() * 100 < $change } @tree;
    @chosen = ($tree[0]) unless @chosen;
    for my $file (@chosen) {
        my $path = $file->[0];
        open my $in, '<:raw', $path or die "tree.pl: $path: $!\n";
        my $text = do { local $/; <$in> };
        close $in;
        # As editors do it: a new file takes the place of the old one.
        store("$path~", edit($text));
        rename "$path~", $path or die "tree.pl: $path: $!\n";
    }
    store("$root.changed", scalar(@chosen) . "\n");
}

# A first commit brings six tenths of the files; the others come with later commits, evenly. Besides, each commit edits some files,
# three on average; few files are edited often and most seldom: the chance falls with the cube root of the rank.
# The tag `old` stands after the first fifth, the branch `base` after four fifths, the branch `main` at the end.
sub write_history {
    binmode STDOUT;
    my $out = '';
    my $time = DATE;
    my (%text, @there);
    my @new = map { $_->[0] } sort { $a->[1] <=> $b->[1] } map { [$_, rand] } @tree;
    my @first = splice @new, 0, @new * 0.6;
    my $each = @new / ($commits > 1 ? $commits - 1 : 1);
    my ($due, $number) = (0, 0);
    print "feature done\n";
    for my $commit (1 .. $commits) {
        my $branch = $commit <= $commits * 0.8 ? 'base' : 'main';
        my @touched;
        if ($commit == 1) {
            @touched = @first;
        } else {
            $due += $each;
            while ($due >= 1 && @new) {
                push @touched, shift @new;
                $due--;
            }
            # What fractions left over.
            push @touched, splice @new if $commit == $commits;
        }
        my $seed = int rand 2**31;
        my %done;
        for my $file (@touched) {
            $text{ $file->[0] } = content($file);
            push @there, $file;
            $done{ $file->[0] } = 1;
        }
        srand $seed;
        if ($commit > 1) {
            for (1 .. 1 + int(-2.5 * log(1 - rand))) {
                my $file = $there[@there * rand() ** 3];
                next if $done{ $file->[0] }++;
                $text{ $file->[0] } = edit($text{ $file->[0] });
                push @touched, $file;
            }
        }
        $time += 600 + int rand 7200;
        my $who = one(@words);
        my $message = ucfirst(join ' ', map { one(@words) } 1 .. 4 + rand 5) . "\n\n" . join("\n", map { one(@phrases) } 1 .. 1 + rand 8) . "\n";
        print "commit refs/heads/$branch\nmark :$commit\ncommitter $who <$who\@example.org> $time +0000\ndata ", length $message, "\n$message\n";
        print "from :", $commit - 1, "\n" if $commit > 1;
        for my $file (@touched) {
            my $path = $file->[0];
            my $text = $text{$path};
            $path =~ s{^[^/]*/}{};
            print "M 100644 inline $path\ndata ", length $text, "\n", $text, "\n";
        }
        print "\n";
        print "reset refs/tags/old\nfrom :$commit\n\n" if $commit == int(1 + $commits * 0.2);
    }
    print "done\n";
    close STDOUT or die "tree.pl: $!\n";
}

my %modes = (write => \&write_tree, tar => \&write_tar, change => \&change_tree, history => \&write_history);
($modes{$mode} // die "tree.pl: say write, tar, change or history\n")->();
